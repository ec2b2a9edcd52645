"""Check which hooks of Bylaw Codex runs, and why it skips others.

For each hook of a file, Codex keeps what a person has trusted, by the position of the hook and by a
digest of its content:

    [hooks.state."/repo/.codex/hooks.json:pre_tool_use:0:0"]
    trusted_hash = "sha256:…"
    enabled = false

Codex silently skips a hook that has no entry, has another digest, or is disabled. The digest here
is that of a hook as Bylaw writes it. For hooks that a person edited, there is another finding.
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
    """The events whose hooks Codex skips, by reason."""

    untrusted: tuple[str, ...]
    changed: tuple[str, ...]
    switched_off: tuple[str, ...]


def trust_of_codex(
    file: str, callers: Iterable[tuple[Path, JSON]], state: Mapping[str, object]
) -> CodexTrust:
    """Compare the hooks in a file that call Bylaw with `state`, the `[hooks.state]` of Codex."""
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
    """Return the digest by which Codex identifies a hook: of its fields, including defaults."""
    identity = {"event_name": label, HOOKS: [{"async": False, **hook}]}
    data = msgspec.json.encode(identity, order="sorted")
    return f"sha256:{sha256(data).hexdigest()}"


def _hooks(callers: Iterable[tuple[Path, JSON]]) -> Iterator[tuple[str, str, Mapping[str, JSON]]]:
    """Yield the event, the position and the value of each hook."""
    for (_, event, group, _, index), hook in callers:
        if isinstance(hook, dict):
            yield str(event), f"{group}:{index}", hook
