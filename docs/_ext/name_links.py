"""Public names on Markdown pages, in code type, as links to their reference."""

from importlib import import_module
from inspect import ismodule

from docutils import nodes
from sphinx import addnodes

MODULES = ("odalib", "odalib.inspection", "odalib.streaming")
# Its names are those of odalib, and mean these but on its own page.
DISTRIBUTED = "odalib.distributed"
GENERATED = ("api/", "auto_examples/")


def targets(docname):
    """Full names of the public names, by their short and by their full name."""
    found = {}
    own = (DISTRIBUTED,) if docname == "distributed" else ()
    for home in (*MODULES, *own):
        module = import_module(home)
        for name in module.__all__:
            if not ismodule(getattr(module, name)) and not name.startswith("_"):
                found[name] = found[f"{home}.{name}"] = f"{home}.{name}"
    return found


def link_names(app, doctree):
    """Make links of names that stand alone in code type."""
    docname = app.env.current_document.docname
    if docname.startswith(GENERATED):
        return
    known = targets(docname)
    for literal in list(doctree.findall(nodes.literal)):
        target = known.get(literal.astext())
        if target and not within_link(literal):
            literal.replace_self(link_to(target, literal, docname))


def within_link(node):
    """Whether a node is part of a link or of a heading."""
    while node := node.parent:
        if isinstance(node, nodes.reference | nodes.title | addnodes.pending_xref):
            return True
    return False


def link_to(target, literal, docname):
    """Link to a public name, shown as it was written."""
    return addnodes.pending_xref(
        "",
        literal.deepcopy(),
        refdomain="py",
        reftype="obj",
        reftarget=target,
        refdoc=docname,
        refexplicit=True,
        refwarn=True,
    )


def setup(app):
    """Once a page has been read."""
    app.connect("doctree-read", link_names)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
