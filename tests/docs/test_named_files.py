"""A file of a page is named in the text before its block: readers do not see info strings."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))

from site_pages import FENCE  # noqa: E402 - docs/ is no package

DOCS = [page for folder in ("docs", "docs/hosts") for page in sorted((ROOT / folder).glob("*.md"))]


def unnamed(text):
    """The files whose name does not stand in the text before their block, or row of files."""
    end, prose, found = 0, "", []
    for fence in FENCE.finditer(text):
        prose = text[end : fence.start()].strip() or prose
        end = fence.end()
        if fence["path"] and f"`{fence['path']}`" not in prose:
            found.append(fence["path"])
        prose = prose if fence["path"] else ""
    return found


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_files_are_named_where_a_reader_sees_it(page):
    assert unnamed(page.read_text(encoding="utf-8")) == []


def test_a_file_without_a_name_is_found():
    text = "`a.toml` and `b.toml`:\n```toml a.toml\n```\n\n```toml b.toml\n```\nso\n```run\n```\n"

    assert unnamed(text) == []
    assert unnamed(text.replace(" and `b.toml`", "")) == ["b.toml"]
    assert unnamed(text + "```edit a.toml\n```\n") == ["a.toml"]


def test_exit_codes_are_explained_where_a_reader_begins():
    first = (ROOT / "docs/first-hour.md").read_text(encoding="utf-8").partition("```run")[0]

    assert re.search(r"`\[exit \d\]`", first)
