"""Find hooks that a person wrote and that also call Bylaw, and say what to do about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bylaw.hosts.hooks.install.entries import read
from bylaw.hosts.hooks.install.our_entries import Known, callers
from bylaw.model.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bylaw.hosts.hooks.install.clients import Client
    from bylaw.hosts.hooks.install.our_entries import HookEntry
    from bylaw.model.source import SourceFile


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
    wanted, ours_alone = client.wanted_entries(""), Known(entries, None)
    found = callers(read(source, client.form), wanted, ours_alone)
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
