"""Draft a valid message from options, and write it to `input`. Used by `bylaw bus new`."""

from __future__ import annotations

import re
from contextlib import closing
from typing import TYPE_CHECKING
from unicodedata import normalize

from msgspec import Struct
from msgspec.structs import replace

from bylaw.dialects.law.messages import COMMAND, judge_message
from bylaw.dialects.law.written import CommandType
from bylaw.hosts.bus.events import leading_out
from bylaw.hosts.bus.in_force import law_settings
from bylaw.hosts.bus.ledger.ledger import Ledger
from bylaw.hosts.bus.messages.evidence import MessageTakenError, message_bytes, write_message
from bylaw.hosts.bus.messages.folders import INPUT, PROCESSING, BusFolders
from bylaw.hosts.bus.messages.message_file import MAX_MESSAGE_BYTES
from bylaw.hosts.bus.messages.seen_folders import SeenFolders
from bylaw.hosts.bus.messages.subjects import id_moment
from bylaw.model.errors import BylawError
from bylaw.model.facts import LawFacts
from bylaw.model.visible import visible
from bylaw.runtime.clock import now_ms
from bylaw.runtime.paths import is_folder, name_from, real_path
from bylaw.runtime.root import absolute
from bylaw.runtime.shared_files import SHARED_CONTEXT, SharedFiles

if TYPE_CHECKING:
    from bylaw.model.values import JSON

MAX_WORD = 40  # characters of the agent, and of the slug, in an id
MAX_SAME = 100  # messages of one second whose ids differ by a number
ORIGIN = "bylaw bus new"

_UNFIT = re.compile(r"[^A-Za-z0-9]+")


class Wish(Struct, frozen=True, kw_only=True):
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


def word_of(text: str) -> str:
    """Convert a text to a part of an id: letters, digits and `-`; empty if it has none."""
    plain = normalize("NFKD", text).encode("ascii", "ignore").decode()
    return _UNFIT.sub("-", plain)[:MAX_WORD].strip("-")


class NewMessages:
    """Make messages for the bus of one root."""

    def __init__(self, root: str) -> None:
        if not is_folder(root):
            raise BylawError(f"folder `{visible(root)}` does not exist")
        self._root = root
        self._path = law_settings(root).bus
        self._phase = SharedFiles(root, self._path).context().phase

    def draft(self, wish: Wish) -> Draft:
        """Draft a message. Raises BylawError if the phase is unknown.

        It is checked in strict mode. A message that passes is valid in every mode.
        """
        stem = _stem(wish)
        message = self._message(wish, self._free_id(stem))
        facts = LawFacts(
            phase=self._phase.phase,
            outside=tuple(leading_out(self._root, message["target_paths"])),
        )
        problems = judge_message(message, facts).refused
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
        raise _too_many(draft.stem)

    def place(self, draft: Draft) -> str:
        """The path where the draft would be written."""
        with SeenFolders(self._root, self._path) as bus:
            return bus.shown(INPUT, f"{draft.msg_id}.json")

    def _message(self, wish: Wish, msg_id: str) -> dict[str, JSON]:
        found: dict[str, JSON] = {
            "msg_id": msg_id,
            "msg_type": COMMAND,
            "command_type": wish.command_type or _command_type(wish),
            "phase": self._active_phase() if wish.phase is None else wish.phase,
            "category": wish.category,
            "title": wish.title,
            "target_paths": [self._from_root(path) for path in wish.paths],
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

    def _from_root(self, path: str) -> str:
        """Make an absolute path relative to the root."""
        if not path.startswith("/"):
            return path
        whole = absolute(path)
        return name_from(self._root, whole) or name_from(real_path(self._root), whole) or path

    def _free_id(self, stem: str) -> str:
        taken = self._taken(stem)
        tried = (stem, *(f"{stem}-{n}" for n in range(2, MAX_SAME + 1)))
        free = next((one for one in tried if one not in taken), None)
        if free is None:
            raise _too_many(stem)
        return free

    def _taken(self, stem: str) -> set[str]:
        """The ids in the bus or its ledger that begin with `stem`."""
        with SeenFolders(self._root, self._path) as bus:
            names = [*bus.names(INPUT), *bus.names(PROCESSING)]
        found = {name.partition(".")[0] for name in names if name.startswith(stem)}
        ledger = Ledger.to_read(self._root)
        if ledger is not None:
            with closing(ledger):
                found |= set(ledger.ids(stem))
        return found


def _stem(wish: Wish) -> str:
    word = wish.slug or word_of(wish.title).lower() or "message"
    return f"{id_moment(now_ms())}_{word_of(wish.by)}_{word}"


def _too_many(stem: str) -> BylawError:
    return BylawError(f"there are already {MAX_SAME} messages with ids like `{stem}`; try again")


def _command_type(wish: Wish) -> CommandType:
    return CommandType.EXEC if wish.run else CommandType.TASK
