"""How a real client is started without a person.

place (home, repository, model) → files, variables, arguments → process → `Ran`
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bylaw.hosts.hooks.canary.script import ToolCall


class TrialPlace(Struct, frozen=True, kw_only=True):
    """Where a client is tested: its own home, a folder to work in, the address of the model."""

    home: str
    repository: str
    url: str


class TrialClient(Struct, frozen=True, kw_only=True):
    """How to start one client.

    `program` is its name on the search path. `files` are private settings, by path below its home.
    The arguments are `verb`, then `again` if the run continues the last session, `options` and the
    prompt. `shell` returns the tool call that runs a command.
    """

    host: str
    program: str
    files: Callable[[TrialPlace], Mapping[str, str]]
    variables: Callable[[TrialPlace], Mapping[str, str]]
    verb: tuple[str, ...] = ()
    again: tuple[str, ...] = ()
    options: tuple[str, ...]
    shell: Callable[[str], ToolCall]
