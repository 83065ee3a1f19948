"""Check a site that Sphinx has built: pages of public names, and links within it."""

from collections.abc import Iterator
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from urllib.parse import unquote

PACKAGES = ("odalib", "odalib.distributed", "odalib.inspection", "odalib.streaming")


class Page(HTMLParser):
    """Addresses that a page links to, and fragments that links to it may have.

    Attributes
    ----------
    addresses, fragments : set of str
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses: set[str] = set()
        self.fragments: set[str] = {""}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag links to, and its name."""
        for name, value in attrs:
            if name == "id" and value:
                self.fragments.add(value)
            elif name in ("href", "src") and value:
                self.addresses.add(value)


def missing_pages(site: Path) -> Iterator[str]:
    """Say which public names have no page of their own."""
    for package in PACKAGES:
        for name in import_module(package).__all__:
            dotted = f"{package}.{name}"
            page = f"api/generated/{dotted}.html"
            if not name.startswith("_") and not (site / page).exists():
                yield f"{dotted}: no page {page}"


def dead_links_within(site: Path) -> Iterator[str]:
    """Say which links of which pages lead to no file or place of the site."""
    paths = [p for p in sorted(site.rglob("*.html")) if "_static" not in p.parts]
    pages = {path: Page(path.read_text()) for path in paths}
    for path, page in pages.items():
        for address in sorted(page.addresses):
            if ":" in address.partition("/")[0]:
                continue
            file, _, fragment = unquote(address).partition("#")
            target = (path.parent / file.partition("?")[0]).resolve() if file else path
            if not target.exists():
                yield f"{path.relative_to(site)}: no file {address}"
            elif target in pages and fragment not in pages[target].fragments:
                yield f"{path.relative_to(site)}: no place {address}"
