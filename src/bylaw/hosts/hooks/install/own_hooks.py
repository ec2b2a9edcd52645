"""A client's configuration and our entries there → the hooks of a person that call us, too."""

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
    """A hook that calls us and that no installation wrote: it stays as it is.

    `twice` says that one of ours is called at the same event, too.
    """

    line: int
    command: str
    twice: bool


def own_hooks(
    source: SourceFile, client: Client, entries: Sequence[HookEntry]
) -> Iterator[OwnHook]:
    """Those beside entries of ours."""
    wanted, ours_alone = client.wanted_entries(""), Known(entries, None)
    found = callers(read(source, client.form), wanted, ours_alone)
    ours = {one.list: one.command for one in found if one.is_ours}
    for one in found:
        if not one.is_ours:
            same = client.equal_once and ours.get(one.list) == one.command
            line = source.position(one.start).line
            yield OwnHook(line, visible(one.command), one.list in ours and not same)


def own_hook_steps(own: Iterable[OwnHook], file: str) -> list[str]:
    """What to do about those that are called beside ours, in a file as people call it."""
    return [
        f"decide about `{one.command}` in line {one.line} of `{visible(file)}`: it is yours and "
        "stays, but with ours beside it its events are judged twice, and counted twice"
        for one in own
        if one.twice
    ]
