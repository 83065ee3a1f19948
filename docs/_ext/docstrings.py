"""Docstrings on pages: odalib's own methods, and names that end in an underscore."""

import inspect
import re

# "name : type" of a numpydoc section, and a name with a trailing underscore in it.
ENTRY = re.compile(r"\w[\w, *]* : ")
TRAILING = re.compile(r"(?<=\w)_(?=[,)])")


def leave_out_foreign(app, what, name, member, skip, options):
    """Leave out methods of other packages; None lets Sphinx decide."""
    if not inspect.isroutine(member):
        return None
    home = inspect.getmodule(member)
    return None if home and home.__name__.startswith("odalib") else True


def escape_underscores(app, what, name, member, options, lines):
    """Keep ``shape (n_features_in_,)`` from being taken for a link."""
    for number, line in enumerate(lines):
        if ENTRY.match(line):
            lines[number] = TRAILING.sub(r"\\_", line)


def setup(app):
    """For all that autodoc collects, before numpydoc rewrites it."""
    app.connect("autodoc-skip-member", leave_out_foreign)
    app.connect("autodoc-process-docstring", escape_underscores, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
