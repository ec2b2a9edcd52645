"""Every link of our pages that stays in the repository leads somewhere, also to a heading."""

import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest

from bylaw.model.source import SourceFile
from bylaw.report.suites.page import Heading, scan_markdown

ROOT = Path(__file__).parents[2]
FOLDERS = ("docs", "spec", "examples", "bench")
PAGES = [*ROOT.glob("*.md"), *(page for name in FOLDERS for page in (ROOT / name).rglob("*.md"))]

_BLOCK = re.compile(r"^(`{3,}).*?^\1`*$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"!?\[[^\]]*\]\(([^()\s]*)\)")
_ELSEWHERE = re.compile(r"[a-z]+:")


def links(text):
    prose = _BLOCK.sub("", text)
    kept = _CODE.sub(lambda code: "" if "](" in code[0] else code[0], prose)
    return [target for target in _LINK.findall(kept) if not _ELSEWHERE.match(target)]


@cache
def anchors(path):
    """The anchors of the headings, as GitHub and most other programs make them."""
    source = SourceFile.decode(path.name, path.read_bytes())
    found = []
    for title in (item.title for item in scan_markdown(source) if isinstance(item, Heading)):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower()
        found.append(re.sub(r"[^\w\- ]", "", words).replace(" ", "-"))
    return {f"{one}-{number}" if (number := found[:at].count(one)) else one
            for at, one in enumerate(found)}  # fmt: skip


def is_broken(page, target):
    path, _, anchor = target.partition("#")
    there = (page.parent / unquote(path)).resolve() if path else page
    if not there.exists() or not there.is_relative_to(ROOT):
        return True
    return bool(anchor) and there.suffix == ".md" and anchor not in anchors(there)


@pytest.mark.parametrize("page", sorted(PAGES), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    assert [target for target in links(text) if is_broken(page, target)] == []


def test_the_index_lists_every_page():
    docs = ROOT / "docs"
    index = (docs / "README.md").read_text(encoding="utf-8")
    listed = {target.partition("#")[0] for target in links(index)}
    pages = [*docs.glob("*.md"), *docs.glob("hosts/*.md")]
    assert {page.relative_to(docs).as_posix() for page in pages} - listed == {"README.md"}


def test_a_broken_link_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# One two\n## One two\n")

    assert anchors(page) == {"one-two", "one-two-1"}
    assert is_broken(ROOT / "README.md", "nothing.md")
    assert is_broken(ROOT / "README.md", "ARCHITECTURE.md#nothing")
    assert is_broken(ROOT / "README.md", "../elsewhere.md")
    assert links("[a](b.md) `[c](d.md)`\n```\n[e](f.md)\n```\n[g](https://h)") == ["b.md"]
