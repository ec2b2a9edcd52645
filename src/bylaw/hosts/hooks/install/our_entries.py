"""Find the entries in a client's configuration that are ours, and all hooks that call Bylaw.

A person can also write a hook that runs `bylaw hook claude Stop`, with their own matcher or
timeout. So an entry is ours only if it equals one that an installation is recorded to have written.
Without a record, for example if the hooks came with a repository, a complete set as `bylaw install`
writes it is ours: every entry, all with one interpreter. All other hooks that call Bylaw belong to
the person, and stay.
"""

from __future__ import annotations

from itertools import islice, takewhile
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from bylaw.model.values import JSON  # noqa: TC001 - msgspec asks for it, see `memory`

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bylaw.hosts.hooks.install.entries import WantedEntries
    from bylaw.hosts.hooks.install.json_text import Document, Path

HOOKS = "hooks"


class HookEntry(NamedTuple):
    """A value of ours, and the path of the list that it is in."""

    list: tuple[str, ...]
    value: JSON


class Known(Struct, frozen=True):
    """What the record says: the entries that Bylaw has `written`, and those that existed before.

    `theirs` is None if the latter are unknown: then only the written entries are ours.
    """

    written: Sequence[HookEntry] = ()
    theirs: Sequence[HookEntry] | None = ()


class Caller(NamedTuple):
    """A hook that calls Bylaw: its position, the path of its list, and its command."""

    start: int
    list: Path
    command: str
    is_ours: bool


def our_entries(
    document: Document, wanted: WantedEntries, known: Known
) -> list[tuple[Path, HookEntry]]:
    """Return our entries in the file with their paths, in the order of the text."""
    found: dict[Path, HookEntry] = {}
    for entry in (*known.written, *_unremembered(document, wanted, known)):
        places = (one for one in _places(document, entry, known) if one not in found)
        found |= dict.fromkeys(islice(places, 1), entry)
    return sorted(found.items(), key=lambda one: _begin(document, one[0]))


def holds(document: Document, entry: HookEntry) -> bool:
    """Whether the file has an equal entry."""
    return any(True for _ in _equal(document, entry))


def is_whole(document: Document, entries: Sequence[HookEntry]) -> bool:
    """Whether the file has all of these entries."""
    return all(holds(document, one) for one in entries)


def entries_of(document: Document, wanted: WantedEntries) -> list[HookEntry]:
    """Return all values in the lists that our entries belong to."""
    found = []
    for list_ in dict.fromkeys(entry.list for entry in wanted.entries):
        node = document.at(list_)
        children = node.children if node is not None and node.is_list else []
        found += [HookEntry(list_, document.plain(one)) for one in children]
    return found


def callers(document: Document, wanted: WantedEntries, known: Known) -> list[Caller]:
    """Return the hooks that call Bylaw."""
    ours = [path for path, _ in our_entries(document, wanted, known)]
    found = []
    for path, command in wanted.callers(document):
        list_ = tuple(takewhile(lambda step: isinstance(step, str), path))
        is_ours = any(path[: len(one)] == one for one in ours)
        found.append(Caller(_begin(document, path), list_, command, is_ours))
    return found


def _unremembered(document: Document, wanted: WantedEntries, known: Known) -> Iterator[HookEntry]:
    """Yield the entries of complete sets that are not in the record."""
    if known.theirs is None:
        return
    for entries in wanted.sets(document):
        if is_whole(document, entries):
            for one in entries:
                if one not in known.written and one not in known.theirs:
                    yield one


def _places(document: Document, entry: HookEntry, known: Known) -> Iterator[Path]:
    """Yield the paths of an entry, the last one first, because we append."""
    yield from _equal(document, entry)
    yield from _among_others(document, entry, known)


def _equal(document: Document, entry: HookEntry) -> Iterator[Path]:
    node = document.at(entry.list)
    for index in reversed(range(len(node.children) if node and node.is_list else 0)):
        path: Path = (*entry.list, index)
        if _value(document, path) == entry.value:
            yield path


def _among_others(document: Document, entry: HookEntry, known: Known) -> Iterator[Path]:
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


def _value(document: Document, path: Path) -> JSON:
    node = document.at(path)
    return None if node is None else document.plain(node)


def _begin(document: Document, path: Path) -> int:
    node = document.at(path)
    assert node is not None, "the path was found in this document"
    return node.start
