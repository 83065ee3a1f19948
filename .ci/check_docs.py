"""Check the Markdown of the repository: links that lead nowhere, and spelling.

Every relative link has to lead to a file, and a fragment to a heading of it: the pages
are read in the repository too, where Sphinx does not see them. codespell looks for
misspelt words; those of docs/spelling.txt are right. Given the folder of a site that
Sphinx has built, looks there for links that lead nowhere and for a page of every public
name, too. Prints one line per fault and exits with 1 if there are any::

    python .ci/check_docs.py [docs/_build]
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

from _site import dead_links_within, missing_pages
from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[1]
WORDS = ROOT / "docs" / "spelling.txt"
GENERATED = ("_build", "auto_examples", "generated")
SPELLED = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "odalib")
BINARY = ("*.png", "*.so", "*.c", "*.csv", "*.npz")


def pages() -> list[Path]:
    """Markdown files that are written by hand, or by a script that is checked in."""
    found = [*ROOT.glob("*.md"), *ROOT.glob("benchmarks/*.md")]
    found += ROOT.glob("docs/**/*.md")
    return sorted(page for page in found if not {*page.parts} & {*GENERATED})


@cache
def tokens(page: Path) -> list[Token]:
    """Tokens of a page, those within lines included."""
    blocks = MarkdownIt().enable("table").parse(page.read_text())
    return [part for block in blocks for part in (block, *(block.children or ()))]


@cache
def anchors(page: Path) -> set[str]:
    """Fragments that a link to a page may have: its headings, as GitHub names them."""
    parts = tokens(page)
    headings = (
        after.content
        for before, after in pairwise(parts)
        if before.type == "heading_open"
    )
    return {slug(heading) for heading in headings}


def slug(heading: str) -> str:
    """Fragment of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def links(page: Path) -> Iterator[str]:
    """Addresses of the links and pictures of a page."""
    for part in tokens(page):
        address = part.attrGet("href") or part.attrGet("src")
        if address:
            yield str(address)


def dead_links() -> Iterator[str]:
    """Say which links of which pages lead nowhere."""
    for page in pages():
        for address in links(page):
            if re.match(r"[a-z]+:", address):
                continue
            path, _, fragment = unquote(address).partition("#")
            target = (page.parent / path).resolve() if path else page
            if not target.exists():
                yield f"{page.relative_to(ROOT)}: no file {address}"
            elif fragment and fragment not in anchors(target):
                yield f"{page.relative_to(ROOT)}: no heading {address}"


def misspelt() -> list[str]:
    """Say which words are misspelt, and where."""
    skipped = ",".join([*BINARY, *(f"*/{name}/*" for name in GENERATED)])
    options = ["--ignore-words", str(WORDS), "--skip", skipped]
    finished = subprocess.run(
        [sys.executable, "-m", "codespell_lib", *options, "docs", *SPELLED],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return (finished.stdout + finished.stderr).splitlines()


def main() -> int:
    """Print the faults and return the exit status."""
    faults = [*dead_links(), *misspelt()]
    for folder in sys.argv[1:]:
        site = Path(folder).resolve()
        faults += [*missing_pages(site), *dead_links_within(site)]
    print("\n".join(faults) if faults else "no dead links, no misspelt words")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
