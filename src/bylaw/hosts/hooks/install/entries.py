"""Add our entries to the text of a client's configuration, and remove them.

An entry is a value that is appended to the list at a path, such as `hooks.PreToolUse`. Missing
lists and objects on the way are created. They are removed with their last entry, unless they were
in the text `before`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.hosts.hooks.install.json_edit import put_in, take_out
from bylaw.hosts.hooks.install.json_text import Document, Form, read_text
from bylaw.hosts.hooks.install.our_entries import Known, is_whole, our_entries
from bylaw.model.codes.install import CLIENT_SETTINGS
from bylaw.model.errors import BylawError, load_error
from bylaw.model.source import SourceFile
from bylaw.model.strict_json import JsonError
from bylaw.model.visible import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bylaw.hosts.hooks.install.json_text import Path
    from bylaw.hosts.hooks.install.our_entries import HookEntry
    from bylaw.model.values import JSON


class WantedEntries(Struct, frozen=True):
    """The entries that a client's file should have, and functions that find existing ones.

    `callers` finds every hook that calls Bylaw, with its command, no matter who wrote it. `sets`
    returns, for each interpreter that these hooks name, the entries of an installation with it.
    `top` are members that the file also needs at its top level.
    """

    form: Form
    entries: Sequence[HookEntry]
    callers: Callable[[Document], list[tuple[Path, str]]]
    sets: Callable[[Document], list[Sequence[HookEntry]]]
    top: Mapping[str, JSON]


def has_all(source: SourceFile, wanted: WantedEntries) -> bool:
    """Whether the file has all wanted entries and top-level members."""
    document = read(source, wanted.form)
    topped = all(document.root.child(key) is not None for key in wanted.top)
    return topped and is_whole(document, wanted.entries)


def calls_us(source: SourceFile, wanted: WantedEntries) -> bool:
    """Whether the file has a hook that calls Bylaw, no matter who wrote it."""
    return bool(wanted.callers(read(source, wanted.form)))


def has_set(source: SourceFile, wanted: WantedEntries) -> bool:
    """Whether the file has a complete set of hooks, of any interpreter."""
    document = read(source, wanted.form)
    return any(is_whole(document, entries) for entries in wanted.sets(document))


def is_bare(source: SourceFile, wanted: WantedEntries) -> bool:
    """Whether the file has no members but those of `top`."""
    document = read(source, wanted.form)
    rest = document.plain(document.root)
    return isinstance(rest, dict) and all(wanted.top.get(key) == one for key, one in rest.items())


def with_entries(
    source: SourceFile, wanted: WantedEntries, entries: Sequence[HookEntry] | None = None
) -> str:
    """Return the text with entries appended to their lists; by default with all wanted entries.

    Raises LoadError if another value is in the place of a list or object that they need, and
    BylawError if removing the entries again would not restore the text.
    """
    written = wanted.entries if entries is None else entries
    document = read(source, wanted.form)
    for entry in wanted.entries:
        _refuse_shape(source, document, entry.list)
    for key, value in wanted.top.items():
        if document.root.child(key) is None:
            document = read_text(put_in(document, document.root, value, key), wanted.form)
    for entry in written:
        document = read_text(_with_entry(document, entry), wanted.form)
    after, known = SourceFile(source.path, document.text), Known(written, None)
    left = without_entries(after, wanted, known, source.text)
    if left != source.text:
        raise BylawError(f"`{visible(source.path)}` cannot be edited in a way that can be undone")
    return document.text


def without_entries(
    source: SourceFile, wanted: WantedEntries, known: Known, before: str | None = None
) -> str:
    """Return the text without our entries, and without what Bylaw created for them.

    `before` is the text before the installation, if it is known.
    """
    document = read(source, wanted.form)
    old = None if before is None else read_text(before, wanted.form)
    for path, _ in reversed(our_entries(document, wanted, known)):
        document = _without(document, path, wanted.form, old)
    for key, value in reversed(list(wanted.top.items())):
        made = old is not None and old.root.child(key) is None
        found = document.root.child(key)
        if made and found is not None and document.plain(found) == value:
            document = _without(document, (key,), wanted.form, old)
    return document.text


def read(source: SourceFile, form: Form) -> Document:
    """Parse a configuration. Raises LoadError with the place if the client could not read it."""
    try:
        return read_text(source.text, form)
    except JsonError as flaw:
        headline = flaw.told_of(f"`{visible(source.path)}` is")
        help_ = "fix the file and run the command again; nothing was changed"
        raise load_error(CLIENT_SETTINGS, headline, source, flaw.span, help=help_) from None


def _with_entry(document: Document, entry: HookEntry) -> str:
    node = document.root
    for index, key in enumerate(entry.list):
        child = node.child(key)
        if child is None:
            value: JSON = [entry.value]
            for inner in reversed(entry.list[index + 1 :]):
                value = {inner: value}
            return put_in(document, node, value, key)
        node = child
    return put_in(document, node, entry.value)


def _refuse_shape(source: SourceFile, document: Document, path: tuple[str, ...]) -> None:
    """Raise LoadError if another value is in the place of a list or object of ours."""
    for depth in range(len(path) + 1):
        node = document.at(path[:depth])
        last = depth == len(path)
        if node is not None and not (node.is_list if last else node.is_object):
            what = f"`{path[depth - 1]}`" if depth else "the file"
            headline = f"{what} must be {'a list' if last else 'an object'} here"
            help_ = "fix the file and run the command again; nothing was changed"
            raise load_error(CLIENT_SETTINGS, headline, source, node.span, help=help_)


def _without(document: Document, path: Path, form: Form, before: Document | None) -> Document:
    """Remove the value at a path, and parents that become empty unless they existed before."""
    parent = document.at(path[:-1])
    child = document.at(path)
    assert parent is not None, "the path was found in this document"
    assert child is not None, "same"
    above = path[:-1]
    if len(parent.children) == 1 and above and (before is None or before.at(above) is None):
        return _without(document, above, form, before)
    inside = _blank_inside(before, above)
    return read_text(take_out(document, parent, parent.children.index(child), inside), form)


def _blank_inside(before: Document | None, path: Path) -> str:
    node = None if before is None else before.at(path)
    if before is None or node is None or node.children:
        return ""
    inside = before.text[node.start + 1 : node.end - 1]
    return inside if inside.isspace() else ""
