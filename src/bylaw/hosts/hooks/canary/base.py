"""How a real client is started without anybody in front of it, and what becomes of that.

place (home, repository, model) → files, variables, arguments → process → Ran
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bylaw.hosts.hooks.canary.script import ToolCall


class TrialPlace(Struct, frozen=True, kw_only=True):
    """Where a client is tried: a home of its own, a folder to work in, the model's address."""

    home: str
    repository: str
    url: str


class TrialClient(Struct, frozen=True, kw_only=True):
    """One client.

    `program` is its name on the search path; `files` are private settings, by path below its home;
    before the prompt stand `verb` and `options`, between them `again` for a run that goes on where
    the last one ended. `shell` is how the model has a command run.
    """

    host: str
    program: str
    files: Callable[[TrialPlace], Mapping[str, str]]
    variables: Callable[[TrialPlace], Mapping[str, str]]
    verb: tuple[str, ...] = ()
    again: tuple[str, ...] = ()
    options: tuple[str, ...]
    shell: Callable[[str], ToolCall]
