"""Add our hook entries to the text of a client's configuration, find them, and remove them.

An entry is a value that is appended to the list at a path, such as `hooks.PreToolUse`. Missing
lists and objects on the way are created, and removed with their last entry. A person can also write
a hook that calls Bylaw. So an entry is ours only if it equals one that an installation is recorded
to have written. Without a record, a complete set as `bylaw install` writes it is ours: every entry,
all with one interpreter. All other hooks that call Bylaw belong to the person, and stay.
"""

from __future__ import annotations

from itertools import islice, takewhile
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from bylaw.hosts.hooks.install.json_edit import (
    JsonDialect,
    JsonDocument,
    insert_value,
    read_text,
    remove_value,
)
from bylaw.model.codes.files import CLIENT_SETTINGS
from bylaw.model.display import visible
from bylaw.model.errors import BylawError, load_error
from bylaw.model.source import SourceFile
from bylaw.model.values import (
    JSON,
    JsonError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from bylaw.hosts.hooks.install.forms import Client
    from bylaw.hosts.hooks.install.json_edit import JsonPath

HOOKS = "hooks"


class HookEntry(NamedTuple):
    """A value of ours, and the path of the list that it is in."""

    list: tuple[str, ...]
    value: JSON


class InstalledEntries(Struct, frozen=True):
    """What the record says: the entries that Bylaw has `written`, and those that existed before.

    `theirs` is None if the latter are unknown: then only the written entries are ours.
    """

    written: Sequence[HookEntry] = ()
    theirs: Sequence[HookEntry] | None = ()


class BylawHook(NamedTuple):
    """A hook that calls Bylaw: its position, the path of its list, and its command."""

    start: int
    list: JsonPath
    command: str
    is_ours: bool


def our_entries(
    document: JsonDocument, wanted: EntryPlan, known: InstalledEntries
) -> list[tuple[JsonPath, HookEntry]]:
    """Return our entries in the file with their paths, in the order of the text."""
    found: dict[JsonPath, HookEntry] = {}
    for entry in (*known.written, *_unrecorded_entries(document, wanted, known)):
        places = (one for one in _entry_paths(document, entry, known) if one not in found)
        found |= dict.fromkeys(islice(places, 1), entry)
    return sorted(found.items(), key=lambda one: _begin(document, one[0]))


def has_entry(document: JsonDocument, entry: HookEntry) -> bool:
    """Whether the file has an equal entry."""
    return any(True for _ in _equal_paths(document, entry))


def has_entries(document: JsonDocument, entries: Sequence[HookEntry]) -> bool:
    """Whether the file has all of these entries."""
    return all(has_entry(document, one) for one in entries)


def entries_in_lists(document: JsonDocument, wanted: EntryPlan) -> list[HookEntry]:
    """Return all values in the lists that our entries belong to."""
    found = []
    for list_ in dict.fromkeys(entry.list for entry in wanted.entries):
        node = document.at(list_)
        children = node.children if node is not None and node.is_list else []
        found += [HookEntry(list_, document.plain(one)) for one in children]
    return found


def find_bylaw_hooks(
    document: JsonDocument, wanted: EntryPlan, known: InstalledEntries
) -> list[BylawHook]:
    """Return the hooks that call Bylaw."""
    ours = [path for path, _ in our_entries(document, wanted, known)]
    found = []
    for path, command in wanted.callers(document):
        list_ = tuple(takewhile(lambda step: isinstance(step, str), path))
        is_ours = any(path[: len(one)] == one for one in ours)
        found.append(BylawHook(_begin(document, path), list_, command, is_ours))
    return found


def _unrecorded_entries(
    document: JsonDocument, wanted: EntryPlan, known: InstalledEntries
) -> Iterator[HookEntry]:
    """Yield the entries of complete sets that are not in the record."""
    if known.theirs is None:
        return
    for entries in wanted.sets(document):
        if has_entries(document, entries):
            for one in entries:
                if one not in known.written and one not in known.theirs:
                    yield one


def _entry_paths(
    document: JsonDocument, entry: HookEntry, known: InstalledEntries
) -> Iterator[JsonPath]:
    """Yield the paths of an entry, the last one first, because we append."""
    yield from _equal_paths(document, entry)
    yield from _paths_in_groups(document, entry, known)


def _equal_paths(document: JsonDocument, entry: HookEntry) -> Iterator[JsonPath]:
    node = document.at(entry.list)
    for index in reversed(range(len(node.children) if node and node.is_list else 0)):
        path: JsonPath = (*entry.list, index)
        if _value(document, path) == entry.value:
            yield path


def _paths_in_groups(
    document: JsonDocument, entry: HookEntry, known: InstalledEntries
) -> Iterator[JsonPath]:
    """Yield the paths of our hook in groups to which a person has added other hooks."""
    hook = _sole_hook(entry.value)
    node = document.at(entry.list)
    for index in reversed(range(len(node.children) if hook and node and node.is_list else 0)):
        group = _value(document, (*entry.list, index))
        hooks = group.get(HOOKS) if isinstance(group, dict) and group.keys() == {HOOKS} else None
        was_there = known.theirs is not None and HookEntry(entry.list, group) in known.theirs
        if isinstance(hooks, list) and hook in hooks and not was_there:
            yield (*entry.list, index, HOOKS, hooks.index(hook))


def _sole_hook(group: JSON) -> JSON:
    hooks = group.get(HOOKS) if isinstance(group, dict) and group.keys() == {HOOKS} else None
    return hooks[0] if isinstance(hooks, list) and len(hooks) == 1 else None


def _value(document: JsonDocument, path: JsonPath) -> JSON:
    node = document.at(path)
    return None if node is None else document.plain(node)


def _begin(document: JsonDocument, path: JsonPath) -> int:
    node = document.at(path)
    assert node is not None, "the path was found in this document"
    return node.start


class EntryPlan(Struct, frozen=True):
    """The entries that a client's file should have, and functions that find existing ones.

    `callers` finds every hook that calls Bylaw, with its command, no matter who wrote it.
    `sets` returns, for each interpreter that these hooks name, the entries of an installation.
    `top` are members that the file also needs at its top level.
    """

    form: JsonDialect
    entries: Sequence[HookEntry]
    callers: Callable[[JsonDocument], list[tuple[JsonPath, str]]]
    sets: Callable[[JsonDocument], list[Sequence[HookEntry]]]
    top: Mapping[str, JSON]


def has_all(source: SourceFile, wanted: EntryPlan) -> bool:
    """Whether the file has all wanted entries and top-level members."""
    document = read_config(source, wanted.form)
    topped = all(document.root.child(key) is not None for key in wanted.top)
    return topped and has_entries(document, wanted.entries)


def calls_bylaw(source: SourceFile, wanted: EntryPlan) -> bool:
    """Whether the file has a hook that calls Bylaw, no matter who wrote it."""
    return bool(wanted.callers(read_config(source, wanted.form)))


def has_set(source: SourceFile, wanted: EntryPlan) -> bool:
    """Whether the file has a complete set of hooks, of any interpreter."""
    document = read_config(source, wanted.form)
    return any(has_entries(document, entries) for entries in wanted.sets(document))


def has_only_top(source: SourceFile, wanted: EntryPlan) -> bool:
    """Whether the file has no members but those of `top`."""
    document = read_config(source, wanted.form)
    rest = document.plain(document.root)
    return isinstance(rest, dict) and all(wanted.top.get(key) == one for key, one in rest.items())


def with_entries(
    source: SourceFile, wanted: EntryPlan, entries: Sequence[HookEntry] | None = None
) -> str:
    """Return the text with entries appended to their lists; by default with all wanted entries.

    Raises LoadError if another value is in the place of a list or object that they need, and
    BylawError if removing the entries again would not restore the text.
    """
    written = wanted.entries if entries is None else entries
    document = read_config(source, wanted.form)
    for entry in wanted.entries:
        _refuse_shape(source, document, entry.list)
    for key, value in wanted.top.items():
        if document.root.child(key) is None:
            document = read_text(insert_value(document, document.root, value, key), wanted.form)
    for entry in written:
        document = read_text(_add_entry(document, entry), wanted.form)
    after, known = SourceFile(source.path, document.text), InstalledEntries(written, None)
    left = without_entries(after, wanted, known, source.text)
    if left != source.text:
        raise BylawError(f"`{visible(source.path)}` cannot be edited in a way that can be undone")
    return document.text


def without_entries(
    source: SourceFile, wanted: EntryPlan, known: InstalledEntries, before: str | None = None
) -> str:
    """Return the text without our entries, and without what Bylaw created for them.

    `before` is the text before the installation, if it is known.
    """
    document = read_config(source, wanted.form)
    old = None if before is None else read_text(before, wanted.form)
    for path, _ in reversed(our_entries(document, wanted, known)):
        document = _remove_at(document, path, wanted.form, old)
    for key, value in reversed(list(wanted.top.items())):
        made = old is not None and old.root.child(key) is None
        found = document.root.child(key)
        if made and found is not None and document.plain(found) == value:
            document = _remove_at(document, (key,), wanted.form, old)
    return document.text


def read_config(source: SourceFile, form: JsonDialect) -> JsonDocument:
    """Parse a configuration. Raises LoadError with the place if the client could not read it."""
    try:
        return read_text(source.text, form)
    except JsonError as flaw:
        headline = flaw.sentence_about(f"`{visible(source.path)}` is")
        help_ = "fix the file and run the command again; nothing was changed"
        raise load_error(CLIENT_SETTINGS, headline, source, flaw.span, help=help_) from None


def _add_entry(document: JsonDocument, entry: HookEntry) -> str:
    node = document.root
    for index, key in enumerate(entry.list):
        child = node.child(key)
        if child is None:
            value: JSON = [entry.value]
            for inner in reversed(entry.list[index + 1 :]):
                value = {inner: value}
            return insert_value(document, node, value, key)
        node = child
    return insert_value(document, node, entry.value)


def _refuse_shape(source: SourceFile, document: JsonDocument, path: tuple[str, ...]) -> None:
    """Raise LoadError if another value is in the place of a list or object of ours."""
    for depth in range(len(path) + 1):
        node = document.at(path[:depth])
        last = depth == len(path)
        if node is not None and not (node.is_list if last else node.is_object):
            what = f"`{path[depth - 1]}`" if depth else "the file"
            headline = f"{what} must be {'a list' if last else 'an object'} here"
            help_ = "fix the file and run the command again; nothing was changed"
            raise load_error(CLIENT_SETTINGS, headline, source, node.span, help=help_)


def _remove_at(
    document: JsonDocument, path: JsonPath, form: JsonDialect, before: JsonDocument | None
) -> JsonDocument:
    """Remove the value at a path, and parents that become empty unless they existed before."""
    parent = document.at(path[:-1])
    child = document.at(path)
    assert parent is not None, "the path was found in this document"
    assert child is not None, "same"
    above = path[:-1]
    if len(parent.children) == 1 and above and (before is None or before.at(above) is None):
        return _remove_at(document, above, form, before)
    inside = _blank_inside(before, above)
    return read_text(remove_value(document, parent, parent.children.index(child), inside), form)


def _blank_inside(before: JsonDocument | None, path: JsonPath) -> str:
    node = None if before is None else before.at(path)
    if before is None or node is None or node.children:
        return ""
    inside = before.text[node.start + 1 : node.end - 1]
    return inside if inside.isspace() else ""


class OwnHook(NamedTuple):
    """A hook that calls Bylaw and was not written by an installation: it stays as it is.

    `twice` says that a hook of ours runs at the same event.
    """

    line: int
    command: str
    twice: bool


def own_hooks(
    source: SourceFile, client: Client, entries: Sequence[HookEntry]
) -> Iterator[OwnHook]:
    """Yield the hooks in a file that call Bylaw and are not among our `entries`."""
    wanted, ours_alone = client.wanted_entries(""), InstalledEntries(entries, None)
    found = find_bylaw_hooks(read_config(source, client.form), wanted, ours_alone)
    ours = {one.list: one.command for one in found if one.is_ours}
    for one in found:
        if not one.is_ours:
            same = client.equal_once and ours.get(one.list) == one.command
            line = source.position(one.start).line
            yield OwnHook(line, visible(one.command), one.list in ours and not same)


def own_hook_steps(own: Iterable[OwnHook], file: str) -> list[str]:
    """Return what to do about hooks that run at the same events as ours; `file` is for messages."""
    return [
        f"consider removing `{one.command}` in line {one.line} of `{visible(file)}`: it is your "
        "own hook, so it stays, but its events are now decided twice, and counted twice"
        for one in own
        if one.twice
    ]
