"""Code without the blank line at its end, which doctests in Markdown need."""

from docutils import nodes


def trim(app, doctree):
    """Take blank lines off the end of blocks of code."""
    for block in doctree.findall(nodes.literal_block):
        text = block.astext()
        if block.rawsource == text and text.endswith("\n"):
            block.rawsource = text.rstrip("\n")
            block.children = []
            block.append(nodes.Text(block.rawsource))


def setup(app):
    """Once a page has been read."""
    app.connect("doctree-read", trim)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
