"""Links of Markdown pages to files of the repository, as links within the site.

Pages are read in the repository too, and link to what lies there: to pages outside of
the folder of the site, which the site includes, and to examples, which the gallery
shows.
"""

from os.path import join, relpath
from pathlib import PurePosixPath

from sphinx import addnodes

# Document of the repository, as seen from the site's folder: page that shows it.
SHOWN_BY = {
    "../README": "index",
    "../CHANGELOG": "changelog",
    "../CONTRIBUTING": "contributing",
    "../SECURITY": "security",
    "../benchmarks/README": "measuring",
    "examples/GALLERY_HEADER": "auto_examples/index",
}
EXAMPLES, GALLERY = "examples", "auto_examples"


def point_into_site(app, doctree):
    """Let links to repository files lead to the pages that show these."""
    for link in doctree.findall(addnodes.pending_xref):
        place = relpath(join(app.srcdir, link["reftarget"]), app.srcdir)
        link["reftarget"] = SHOWN_BY.get(place, link["reftarget"])
    for link in list(doctree.findall(addnodes.download_reference)):
        path = PurePosixPath(link["reftarget"])
        if path.parts[0] == EXAMPLES and path.suffix == ".py":
            link.replace_self(gallery_link(link, path))


def gallery_link(link, path):
    """Link to the page of an example, with the text of the link to its file."""
    page = PurePosixPath(GALLERY, *path.with_suffix("").parts[1:])
    return addnodes.pending_xref(
        "",
        *link.children,
        refdomain="std",
        reftype="doc",
        reftarget=f"/{page}",
        refdoc=link["refdoc"],
        refexplicit=True,
        refwarn=True,
    )


def setup(app):
    """Before Sphinx collects which files are to be downloaded."""
    app.connect("doctree-read", point_into_site, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
