"""How Sphinx builds the site: ``python -m sphinx -W docs docs/_build``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

import odalib

project = "odalib"
author = "odalib developers"
copyright = author
version = release = odalib.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "code_blocks",
    "docstrings",
    "mathml",
    "name_links",
    "repository_links",
]
exclude_patterns = ["_build", "examples", "images"]
templates_path = ["_templates"]

# Pages are Markdown that is read on its own, and run as doctests, too.
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4

# Every public name has a page: modules list what their __all__ does.
autosummary_generate = True
autosummary_imported_members = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"
# Names in single backticks are links where there is something to link to.
default_role = "py:obj"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"\.py$",
    "abort_on_example_error": True,
    "backreferences_dir": "api/generated/examples",
    "doc_module": ("odalib",),
    "reference_url": {"odalib": None},
    "download_all_examples": False,
    "show_signature": False,
    "within_subsection_order": "FileNameSortKey",
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "odalib"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
# No navigation beside pages that have nothing below them.
html_sidebars = {page: [] for page in ("install", "tour", "migration", "faq")}
html_theme_options = {
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 6,
    "show_nav_level": 2,
    "show_toc_level": 2,
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
