"""Formulas as MathML, which browsers draw by themselves: no script, no network."""

import re

from docutils.nodes import SkipNode
from latex2mathml.converter import convert

SPELLINGS = {r"\mathrm{": r"\text{", "''": "\N{DOUBLE PRIME}", "'": "\N{PRIME}"}
# Functions by name stand apart from what is beside them, unless that is a bracket.
FUNCTION = re.compile(r"<mi>(log|exp|tanh|cosh|min|max)</mi>(<mo stretchy)?")


def mathml(formula, display):
    r"""MathML of a formula in LaTeX.

    The converter writes ``\mathrm{E}`` as a variable, which browsers set in italics,
    and ``\text{E}`` as a word. It writes ' as a superscript prime, but the glyph stands
    high by itself.
    """
    for written, meant in SPELLINGS.items():
        formula = formula.replace(written, meant)
    written = convert(formula, display=display)
    return FUNCTION.sub(set_apart, written)


def set_apart(found):
    """Write a function's name as an operator, which has room beside it."""
    name, bracket = found[1], found[2] or ""
    after = "0" if bracket else "0.17em"
    return f'<mo lspace="0.17em" rspace="{after}">{name}</mo>{bracket}'


def visit_inline(translator, node):
    """Write a formula within a line."""
    translator.body.append(mathml(node.astext(), "inline"))
    raise SkipNode


def visit_display(translator, node):
    """Write a formula on lines of its own, which scrolls where it is too wide."""
    formula = mathml(node.astext(), "block")
    translator.body.append(f'<div class="formula">{formula}</div>\n')
    raise SkipNode


def setup(app):
    """Make it the way in which HTML pages show formulas."""
    app.add_html_math_renderer(
        "mathml",
        inline_renderers=(visit_inline, None),
        block_renderers=(visit_display, None),
    )
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
