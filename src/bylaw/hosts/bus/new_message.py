"""Draft a valid message from options, and write it to `input`. Used by `bylaw bus new`."""

from __future__ import annotations

import re
from contextlib import closing
from typing import TYPE_CHECKING
from unicodedata import normalize

from msgspec import Struct
from msgspec.structs import replace

from bylaw.hosts.bus.active_rules import read_law_settings
from bylaw.hosts.bus.events import paths_outside
from bylaw.hosts.bus.evidence import MessageTakenError, id_time, message_bytes, write_message
from bylaw.hosts.bus.folders import INPUT, PROCESSING, BusFolders, ReadOnlyFolders
from bylaw.hosts.bus.ledger import Ledger
from bylaw.hosts.bus.message_file import MAX_MESSAGE_BYTES
from bylaw.languages.law.messages import COMMAND, check_message
from bylaw.languages.law.syntax import CommandType
from bylaw.model.display import visible
from bylaw.model.errors import BylawError
from bylaw.model.facts import LawFacts
from bylaw.runtime.shared_context import SHARED_CONTEXT, SharedFiles
from bylaw.store.files import absolute
from bylaw.store.paths import is_folder, real_path, relative_name
from bylaw.store.system import now_ms

if TYPE_CHECKING:
    from bylaw.model.values import JSON

MAX_WORD = 40  # characters of the agent, and of the slug, in an id
MAX_SAME = 100  # messages of one second whose ids differ by a number
ORIGIN = "bylaw bus new"

_NOT_ID_CHARS = re.compile(r"[^A-Za-z0-9]+")


class MessageOptions(Struct, frozen=True, kw_only=True):
    """The options of a new message. None and empty texts are replaced by defaults."""

    title: str
    category: str
    command_type: str | None
    paths: tuple[str, ...]
    run: tuple[str, ...]
    notes: str
    origin: str
    by: str
    approval_by: tuple[str, ...]
    requires_approval: bool
    slug: str
    phase: int | None


class Draft(Struct, frozen=True):
    """A message that is not written yet, and the reasons for which it would be refused.

    Its id begins with `stem`. A number follows if other messages of the same second have that id.
    """

    stem: str
    message: dict[str, JSON]
    problems: tuple[str, ...]

    @property
    def msg_id(self) -> str:
        """The id of the message."""
        return str(self.message["msg_id"])


def id_word(text: str) -> str:
    """Convert a text to a part of an id: letters, digits and `-`; empty if it has none."""
    plain = normalize("NFKD", text).encode("ascii", "ignore").decode()
    return _NOT_ID_CHARS.sub("-", plain)[:MAX_WORD].strip("-")


class NewMessages:
    """Make messages for the bus of one root."""

    def __init__(self, root: str) -> None:
        if not is_folder(root):
            raise BylawError(f"folder `{visible(root)}` does not exist")
        self._root = root
        self._path = read_law_settings(root).bus
        self._phase = SharedFiles(root, self._path).context().phase

    def draft(self, wish: MessageOptions) -> Draft:
        """Draft a message. Raises BylawError if the phase is unknown.

        It is checked in strict mode. A message that passes is valid in every mode.
        """
        stem = _id_stem(wish)
        message = self._message(wish, self._free_id(stem))
        facts = LawFacts(
            phase=self._phase.phase,
            outside=tuple(paths_outside(self._root, message["target_paths"])),
        )
        problems = check_message(message, facts).refused
        if not problems and len(message_bytes(message)) > MAX_MESSAGE_BYTES:
            problems = (f"a message may have at most {MAX_MESSAGE_BYTES:,} bytes",)
        return Draft(stem, message, problems)

    def put(self, draft: Draft) -> tuple[Draft, str]:
        """Write a draft. Return it as written, and its path from the root.

        If its id was taken meanwhile, the message gets the next one. Raises BylawError if the
        message cannot be written.
        """
        with BusFolders(self._root, self._path) as bus:
            for _ in range(MAX_SAME):
                try:
                    return draft, write_message(bus, draft.message)
                except MessageTakenError:
                    free = self._free_id(draft.stem)
                    draft = replace(draft, message=draft.message | {"msg_id": free})
        raise _too_many_error(draft.stem)

    def place(self, draft: Draft) -> str:
        """The path where the draft would be written."""
        with ReadOnlyFolders(self._root, self._path) as bus:
            return bus.shown(INPUT, f"{draft.msg_id}.json")

    def _message(self, wish: MessageOptions, msg_id: str) -> dict[str, JSON]:
        found: dict[str, JSON] = {
            "msg_id": msg_id,
            "msg_type": COMMAND,
            "command_type": wish.command_type or _command_type(wish),
            "phase": self._active_phase() if wish.phase is None else wish.phase,
            "category": wish.category,
            "title": wish.title,
            "target_paths": [self._relative_path(path) for path in wish.paths],
        }
        if wish.run:
            found["run"] = list(wish.run)
        if wish.requires_approval:
            found["requires_approval"] = True
        if wish.approval_by:
            found["approval_by"] = list(wish.approval_by)
        return found | {
            "origin_ref": wish.origin or ORIGIN,
            "created_by": wish.by,
            "notes": wish.notes,
        }

    def _active_phase(self) -> int:
        if self._phase.phase is None:
            file = visible(f"{self._root}/{SHARED_CONTEXT}")
            raise BylawError(
                f"the phase is unknown: {self._phase.why}; add one line `Active Phase: N`, with "
                f"N from 0 to 4, to `{file}`, or pass `--phase N`"
            )
        return self._phase.phase

    def _relative_path(self, path: str) -> str:
        """Make an absolute path relative to the root."""
        if not path.startswith("/"):
            return path
        whole = absolute(path)
        return (
            relative_name(self._root, whole) or relative_name(real_path(self._root), whole) or path
        )

    def _free_id(self, stem: str) -> str:
        taken = self._taken_ids(stem)
        tried = (stem, *(f"{stem}-{n}" for n in range(2, MAX_SAME + 1)))
        free = next((one for one in tried if one not in taken), None)
        if free is None:
            raise _too_many_error(stem)
        return free

    def _taken_ids(self, stem: str) -> set[str]:
        """The ids in the bus or its ledger that begin with `stem`."""
        with ReadOnlyFolders(self._root, self._path) as bus:
            names = [*bus.names(INPUT), *bus.names(PROCESSING)]
        found = {name.partition(".")[0] for name in names if name.startswith(stem)}
        ledger = Ledger.open_for_reading(self._root)
        if ledger is not None:
            with closing(ledger):
                found |= set(ledger.ids_with_prefix(stem))
        return found


def _id_stem(wish: MessageOptions) -> str:
    word = wish.slug or id_word(wish.title).lower() or "message"
    return f"{id_time(now_ms())}_{id_word(wish.by)}_{word}"


def _too_many_error(stem: str) -> BylawError:
    return BylawError(f"there are already {MAX_SAME} messages with ids like `{stem}`; try again")


def _command_type(wish: MessageOptions) -> CommandType:
    return CommandType.EXEC if wish.run else CommandType.TASK
