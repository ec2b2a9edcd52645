"""Examples of a client's configuration → what `bylaw install` says about it; see provoke.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.hosts.hooks.install.entries import with_entries
from bylaw.hosts.hooks.install.forms import CLIENTS
from bylaw.model.source import SourceFile

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bylaw.model.codes import Example
    from bylaw.model.diagnostic import Diagnostic


def client_settings(example: Example) -> Sequence[Diagnostic]:
    """What is wrong with the settings of Claude Code."""
    shape = CLIENTS["claude"].wanted_entries("/usr/bin/python3")
    with_entries(SourceFile(".claude/settings.json", example.text), shape)
    return []


READERS: dict[str, Callable[[Example], Sequence[Diagnostic]]] = {
    "client-settings": client_settings,
}
