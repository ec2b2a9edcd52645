"""A built site → what is wrong with it: Markdown that is shown, rules that are not, dead links."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from pathlib import Path

# What MkDocs and its theme write. Anything else was meant to be read, and a browser hides it.
ELEMENTS = {
    *("html", "head", "meta", "title", "link", "script", "style", "body"),
    *("nav", "section", "footer", "div", "form", "input", "button", "img", "i", "span", "hr"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "p", "br", "a", "em", "strong", "code", "pre"),
    *("ul", "ol", "li", "blockquote", "table", "thead", "tbody", "tr", "th", "td"),
}
_MARKS = re.compile(r"```|^(?:[-*] |\| )|\n\d+\. ", re.MULTILINE)
_VERBATIM = ("pre", "code", "script", "style")


class Page(HTMLParser):
    """What a check needs to know of one page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.unknown: set[str] = set()
        self.shows_marks = False
        self._verbatim = 0
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note links, anchors and elements that are none of HTML."""
        values = dict(attrs)
        self._verbatim += tag in _VERBATIM
        if tag not in ELEMENTS:
            self.unknown.add(tag)
        self.anchors |= {value for name in ("id", "name") if (value := values.get(name))}
        self.links += [value for name in ("href", "src") if (value := values.get(name))]

    def handle_endtag(self, tag: str) -> None:
        """Know when code ends."""
        self._verbatim -= tag in _VERBATIM

    def handle_data(self, data: str) -> None:
        """Marks of Markdown outside of code were not understood."""
        self.shows_marks |= not self._verbatim and bool(_MARKS.search(data))


def problems(site: Path) -> list[str]:
    """One line for each thing that is wrong, in the order of the pages."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(site.rglob("*.html"))}
    pages = {path: Page(text) for path, text in texts.items() if path.name != "404.html"}
    return [
        f"{path.relative_to(site)}: {problem}"
        for path, page in pages.items()
        for problem in _of_page(site, path, page, pages)
    ]


def _of_page(site: Path, path: Path, page: Page, pages: dict[Path, Page]) -> list[str]:
    found = [f"<{tag}> is no element of HTML" for tag in sorted(page.unknown)]
    if page.shows_marks:
        found.append("a fence, a list or a table is shown as text")
    dead = [link for link in page.links if _is_dead(site, path, link, pages)]
    return found + [f"dead link: {link}" for link in sorted(set(dead))]


def _is_dead(site: Path, path: Path, link: str, pages: dict[Path, Page]) -> bool:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return False
    there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if there.is_dir():
        there /= "index.html"
    if not there.is_file() or not there.is_relative_to(site):
        return True
    known = pages.get(there)
    return bool(parts.fragment) and known is not None and parts.fragment not in known.anchors
