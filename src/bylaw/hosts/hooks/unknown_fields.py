"""Unknown payload fields and events, kept in the state folder of a root for `bylaw doctor`.

A new field or event may contain something that rules should see. It is not a failure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bylaw.model.visible import clipped, visible
from bylaw.runtime.state_folder import existing_state_folder, state_folder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FILE = "hook-fields.json"
MAX_FIELDS = 100  # per client
MAX_NAME = 80  # characters
MAX_BYTES = 1 << 20


def note_unknown(root: str, host: str, fields: Sequence[str]) -> None:
    """Add the names that are not in the list yet."""
    named = {clipped(visible(one), MAX_NAME) for one in fields}
    if named <= set(unknown_fields(root).get(host, ())):
        return
    with state_folder(root) as folder, folder.locked(FILE):
        noted = _decoded(folder.read(FILE, MAX_BYTES))
        before = noted.get(host, [])
        noted[host] = [*before, *sorted(named - set(before))][:MAX_FIELDS]
        if noted[host] != before:
            folder.write(FILE, msgspec.json.encode(noted), lasting=False)


def unknown_fields(root: str) -> Mapping[str, Sequence[str]]:
    """Return the names that were noted in a root, by client."""
    with existing_state_folder(root) as folder:
        return {} if folder is None else _decoded(folder.read(FILE, MAX_BYTES))


def _decoded(data: bytes | None) -> dict[str, list[str]]:
    try:
        return {} if data is None else msgspec.json.decode(data, type=dict[str, list[str]])
    except msgspec.MsgspecError:
        return {}  # the list is only for people, and it fills again
