"""A page as GitHub shows it → the same page as MkDocs reads it.

MkDocs knows no fence that names a file, no link to a folder, and no page for a file of rules.
"""

from __future__ import annotations

import re
from itertools import pairwise
from posixpath import dirname, join, normpath, relpath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

FENCE = re.compile(
    r"^(?P<ticks>`{3,})(?P<kind>[\w-]*)(?: (?P<path>[^\n]+))?\n(?P<text>.*?)^(?P=ticks)`*$",
    re.MULTILINE | re.DOTALL,
)
INDEX = "README.md"

# What a block is, in words, for kinds that are no plain file; `{}` is the path.
_TITLES = {
    "after": "{} then",
    "diagnostics": "What loading reports",
    "edit": "{}, changed",
    "events": "Events",
    "expect": "Decisions",
    "holds": "{} then holds",
    "journal": "Events that are recorded in {}",
    "remove": "{} is taken away",
    "state": "State",
    "tree": "Files in {}",
}
# Which highlighter reads a kind of block, or a file with such an ending.
_LEXERS = {
    name: lexer
    for lexer, names in {
        "bash": ("sh",),
        "console": ("run",),
        "json": ("json", "jsonl", "events", "expect", "state", "holds", "journal"),
        "lua": ("lua",),
        "markdown": ("markdown", "md", "policies"),
        "python": ("python", "py"),
        "toml": ("toml", "settings"),
        "xml": ("chatmd",),
        "yaml": ("yaml", "yml", "law", "context"),
    }.items()
    for name in names
}
_CODE = re.compile(r"(`+)(?!`)(?:(?!\n\n).)+?(?<!`)\1(?!`)", re.DOTALL)
_CODE_OR_LINK = re.compile(rf"{_CODE.pattern}|\]\((?P<target>[^()\s]+)\)", re.DOTALL)
_ELSEWHERE = re.compile(r"[a-z]+:|#")
_ROW = re.compile(r"^\|.*\|$", re.MULTILINE)


def is_prose(path: str) -> bool:
    """Whether a file is a page to read; other Markdown is rules of somebody."""
    is_page = path.endswith(f"/{INDEX}") or "/" not in path or path.startswith(("docs/", "spec/"))
    return path.endswith(".md") and is_page


def page_of(path: str, folders: Collection[str]) -> str:
    """Where the site shows a file or a folder of the repository."""
    if path in folders:
        return normpath(join(path, INDEX))
    return path if is_prose(path) else f"{path}.md"


def pages(files: Collection[str], read: Callable[[str], str]) -> dict[str, str]:
    """All pages of the site: prose, the examples, what they link to, and indexes of folders."""
    folders = {folder for path in files for folder in _folders_of(path)}
    texts: dict[str, str] = {}
    wanted = [path for path in files if _is_wanted(path)]
    while wanted:
        path = wanted.pop()
        page = page_of(path, folders)
        if page in texts:
            continue
        texts[page] = read(path) if is_prose(path) else code_page(path, read(path))
        if is_prose(path):
            texts[page] = plain_fences(path, texts[page], files)
            wanted += [target for target in targets(path, texts[page]) if target in files]
    shown = {path: for_site(path, text, folders) for path, text in sorted(texts.items())}
    return shown | _indexes(texts)


def for_site(path: str, text: str, folders: Collection[str]) -> str:
    """A page with plain fences, its links leading to pages of the site."""
    return _outside_fences(text, lambda prose: _linked(path, _unescaped(prose), folders))


def plain_fences(page: str, text: str, files: Collection[str]) -> str:
    """Every fence with the name of a highlighter and no more; what else it said stands above it."""
    parts, end = [], 0
    for fence in FENCE.finditer(text):
        before = text[end : fence.start()]
        is_beside = normpath(join(dirname(page), fence["path"] or "")) in files
        parts += [before, _plain(fence, f"`{fence['path']}`" in before, is_beside)]
        end = fence.end()
    return "".join([*parts, text[end:]])


def targets(path: str, text: str) -> list[str]:
    """The files and folders of the repository to which a page with plain fences links."""
    found: list[str] = []
    _outside_fences(text, lambda prose: _each_link(path, prose, lambda to: found.append(to) or to))
    return found


def _is_wanted(path: str) -> bool:
    return path.startswith("examples/") or (is_prose(path) and not path.startswith("tests/"))


def _folders_of(path: str) -> list[str]:
    """Every folder above a path, from the nearest to the root, which is `.`."""
    parts = path.split("/")[:-1]
    return ["/".join(parts[:end]) or "." for end in range(len(parts), -1, -1)]


def _indexes(texts: dict[str, str]) -> dict[str, str]:
    """A page for each folder that has none of its own."""
    entries: dict[str, dict[str, str]] = {}
    for path, text in texts.items():
        nearest, *above = _folders_of(path)
        if path != normpath(join(nearest, INDEX)):
            entries.setdefault(nearest, {})[relpath(path, nearest)] = title_of(text, path)
        for folder, parent in pairwise((nearest, *above)):
            index = texts.get(f"{folder}/{INDEX}")
            name = relpath(folder, parent)
            title = title_of(index, name) if index else f"{name}/"
            entries.setdefault(parent, {})[f"{name}/{INDEX}"] = title
    return {
        page: folder_page(folder, sorted(found.items()))
        for folder, found in sorted(entries.items())
        if (page := normpath(join(folder, INDEX))) not in texts
    }


def code_page(path: str, text: str) -> str:
    """A page that shows a file as it is."""
    ticks = "`" * (3 + max(map(len, re.findall(r"`{3,}", text)), default=0))
    closed = text if text.endswith("\n") else f"{text}\n"
    name = path.rpartition("/")[2]
    return f"# {name}\n\n`{path}`\n\n{ticks}{_lexer(path)}\n{closed}{ticks}\n"


def folder_page(folder: str, entries: list[tuple[str, str]]) -> str:
    """An index of a folder: each entry is the path of a page from there, and its title."""
    lines = [f"- [{title}]({path})" for path, title in entries]
    return "\n".join([f"# {folder}/", "", *lines, ""])


def title_of(text: str, path: str) -> str:
    """The first heading of a page, else its path."""
    found = re.search(r"^# (.+)$", text, re.MULTILINE)
    return found[1] if found else path


def _plain(fence: re.Match[str], is_named: bool, is_beside: bool) -> str:
    kind, path, text = fence["kind"], fence["path"], fence["text"]
    lexer = _LEXERS.get(kind) or _lexer(path or "")
    block = f"{fence['ticks']}{lexer}\n{text}{fence['ticks']}"
    if path and not text and is_beside:  # its text is that of the file
        return f"*[`{path}`]({path})*\n"
    if kind in _TITLES:
        title = _TITLES[kind].format(f"`{path}`")
    elif path and not (text and is_named):
        title = f"`{path}`"
    else:
        return block
    if text:
        return f"*{title}*\n\n{block}"
    return f"*{title}*\n" if kind == "remove" else f"*{title}: nothing*\n"


def _lexer(path: str) -> str:
    return _LEXERS.get(path.rpartition(".")[2], "text")


def _outside_fences(text: str, change: Callable[[str], str]) -> str:
    parts, end = [], 0
    for fence in FENCE.finditer(text):
        parts += [change(text[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, change(text[end:])])


def _unescaped(prose: str) -> str:
    """GitHub wants `\\|` also inside of code in a table; MkDocs would show the backslash."""
    return _ROW.sub(lambda row: _CODE.sub(lambda code: code[0].replace("\\|", "|"), row[0]), prose)


def _linked(path: str, prose: str, folders: Collection[str]) -> str:
    def to_page(target: str) -> str:
        return relpath(page_of(target, folders), dirname(path) or ".")

    return _each_link(path, prose, to_page)


def _each_link(path: str, prose: str, change: Callable[[str], str]) -> str:
    """The prose with links into the repository changed; `change` gets a path from the root."""

    def changed(found: re.Match[str]) -> str:
        if found["target"] is None or _ELSEWHERE.match(found["target"]):
            return found[0]
        target, hash_, anchor = found["target"].partition("#")
        return f"]({change(normpath(join(dirname(path), target)))}{hash_}{anchor})"

    return _CODE_OR_LINK.sub(changed, prose)
