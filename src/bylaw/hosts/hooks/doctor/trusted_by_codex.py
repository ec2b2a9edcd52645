"""Codex's settings and hooks of ours → which of them Codex runs, and why it leaves out others.

Codex keeps for each hook of a file what a person has trusted, by where it stands and by a digest of
what it does:

    [hooks.state."/repo/.codex/hooks.json:pre_tool_use:0:0"]
    trusted_hash = "sha256:…"
    enabled = false

A hook without that, with another digest, or that is switched off, is silently not run. The digest
is that of a hook as we write it; for one that somebody edited, another finding tells that.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from bylaw.hosts.hooks.install.our_entries import HOOKS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from bylaw.hosts.hooks.install.json_text import Path
    from bylaw.model.values import JSON

_HUMP = re.compile(r"(?<!^)(?=[A-Z])")


class CodexTrust(Struct, frozen=True):
    """The events whose hooks Codex does not run, by why: nobody trusted them, and so on."""

    untrusted: tuple[str, ...]
    changed: tuple[str, ...]
    switched_off: tuple[str, ...]


def trust_of_codex(
    file: str, callers: Iterable[tuple[Path, JSON]], state: Mapping[str, object]
) -> CodexTrust:
    """What Codex thinks of the hooks in a file that call us; `state` is `[hooks.state]`."""
    untrusted, changed, switched_off = [], [], []
    for event, place, hook in _hooks(callers):
        label = _HUMP.sub("_", event).lower()
        said = state.get(f"{file}:{label}:{place}")
        found = said if isinstance(said, dict) else {}
        trusted = found.get("trusted_hash")
        if trusted is None:
            untrusted.append(event)
        elif trusted != codex_hash(label, hook):
            changed.append(event)
        if found.get("enabled") is False:
            switched_off.append(event)
    return CodexTrust(tuple(untrusted), tuple(changed), tuple(switched_off))


def codex_hash(label: str, hook: Mapping[str, JSON]) -> str:
    """The digest by which Codex knows a hook of ours: of what it does, with what is not said."""
    identity = {"event_name": label, HOOKS: [{"async": False, **hook}]}
    data = msgspec.json.encode(identity, order="sorted")
    return f"sha256:{sha256(data).hexdigest()}"


def _hooks(callers: Iterable[tuple[Path, JSON]]) -> Iterator[tuple[str, str, Mapping[str, JSON]]]:
    """Each hook: its event, where it stands there, and what it is."""
    for (_, event, group, _, index), hook in callers:
        if isinstance(hook, dict):
            yield str(event), f"{group}:{index}", hook
