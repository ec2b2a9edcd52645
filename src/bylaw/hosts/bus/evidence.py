"""Write evidence and new messages to the bus. A file is complete as soon as it is visible.

    error/NAME.RULE.N.json   input/MSG_ID.json

N is the first free number. A file is written under a temporary name, synced to disk, and then
renamed to a free name. So no file is overwritten, and no reader sees a partial file. Evidence
contains the message, the commands that ran and the failure: a reader needs nothing else.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from hashlib import sha256
from itertools import count, islice
from shlex import join
from typing import TYPE_CHECKING
from uuid import uuid4

from bylaw.hosts.bus.folders import ERROR, FOLDERS, INPUT, OUTPUT, OWNER_TAG, owner_of, owner_tag
from bylaw.hosts.bus.message_file import digest_of
from bylaw.languages.law.messages import EVIDENCE, is_message_id
from bylaw.model.display import clip_text, iso_time, visible_in_json
from bylaw.model.errors import BylawError
from bylaw.model.event import Bus, File
from bylaw.model.rule import message_field
from bylaw.model.values import JsonError, as_text, decode_utf8, read_json
from bylaw.model.vocabulary import EffectStatus, Op
from bylaw.store.files import (
    move_new,
    os_error_text,
    read_regular_bytes,
    try_remove,
    write_temporary,
)
from bylaw.store.journal.records import read_effects
from bylaw.store.paths import as_bytes, real_path, relative_name
from bylaw.store.system import is_dead

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from bylaw.engine.plan import DueStep
    from bylaw.hosts.bus.folders import BusFolders
    from bylaw.model.event import EffectDone, Event
    from bylaw.model.values import JSON
    from bylaw.store.journal.journal import Journal

MAX_EVIDENCE_BYTES = 4 * 1024 * 1024
MAX_SLUG = 100
MAX_SEARCHED = 100  # evidence files that are searched for a message

_NOT_SLUG_CHARS = re.compile(r"[^A-Za-z0-9_-]+")
_NUMBERED = re.compile(r".+\.([0-9]{1,18})\.json")
_DIGEST_CHARS = 8
_TEMPORARY = ".new-{}"
_UNFINISHED = re.compile(rf"\.new-({OWNER_TAG})\.[0-9a-f]{{16}}")
# The lengths to which each text is cut, one after the other, until the evidence is small enough.
# The message is never cut, because its file is removed (LD-035, LD-036).
_TEXT_LIMITS = (64 * 1024, 4 * 1024, 256)
_MESSAGE_KEY = "message"


class MessageTakenError(BylawError):
    """`input` already has a message with this id."""


def slug(text: str) -> str:
    """Convert a text to a part of a file name: 1 to 100 of `[A-Za-z0-9_-]`."""
    fit = _NOT_SLUG_CHARS.sub("-", text)
    if len(fit) > MAX_SLUG:
        digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_CHARS]
        fit = f"{fit[: MAX_SLUG - _DIGEST_CHARS - 1]}-{digest}"
    return fit or "-"


def write_evidence(
    bus: BusFolders, channel: str, name: str, rule: str, body: Mapping[str, JSON]
) -> str:
    """Write evidence and return its path from the root. Raises BylawError if that fails."""
    stem = f"{slug(name)}.{slug(rule)}"
    folder = bus.folder(channel)
    data = _encode_bounded(body)
    try:
        names = (f"{stem}.{n}.json" for n in count(_free_number(folder, stem)))
        return bus.shown(channel, _write_file(folder, data, names))
    except OSError as wrong:
        place = bus.shown(channel, stem)
        raise BylawError(f"cannot write the evidence `{place}`: {os_error_text(wrong)}") from None


def write_message(bus: BusFolders, message: Mapping[str, JSON]) -> str:
    """Write a message to `input` under its id and return its path.

    Raises MessageTakenError if the name exists, BylawError if it cannot be written.
    """
    name = f"{slug(str(message.get('msg_id', '')))}.json"
    place = bus.shown(INPUT, name)
    try:
        _write_file(bus.input, message_bytes(message), [name])
    except FileExistsError:
        raise MessageTakenError(f"the message `{place}` already exists") from None
    except OSError as wrong:
        raise BylawError(f"cannot write the message `{place}`: {os_error_text(wrong)}") from None
    return place


def message_bytes(message: Mapping[str, JSON]) -> bytes:
    """The bytes of a message file."""
    return _encode(message, indent=2)


def evidence_files(bus: BusFolders, name: str) -> Iterator[tuple[str, str]]:
    """Yield the folder and the file name of all evidence for a name."""
    for channel in (OUTPUT, ERROR):
        for file in bus.names(channel):
            if _number_of(file, name) is not None:
                yield channel, file


def newest_error(bus: BusFolders, files: Iterable[str], name: str) -> str | None:
    """Return the evidence for a name that was written last, among these files of `error`."""
    found: list[tuple[int, int, str]] = []
    for file in files:
        number = _number_of(file, name)
        if number is not None:
            with suppress(FileNotFoundError):
                written = os.stat(as_bytes(file), dir_fd=bus.folder(ERROR), follow_symlinks=False)
                # The clock of files is coarse, so the number decides between equal times.
                found.append((written.st_mtime_ns, number, file))
    return max(found)[-1] if found else None


def read_evidence(bus: BusFolders, channel: str, file: str) -> dict[str, JSON] | None:
    """Read evidence; None if the file is gone or is not evidence."""
    try:
        data = read_regular_bytes(file, MAX_EVIDENCE_BYTES, links=False, folder=bus.folder(channel))
        body = read_json(decode_utf8(data))
    except (OSError, ValueError, JsonError):
        return None
    return body if isinstance(body, dict) else None


def find_message(bus: BusFolders, msg_id: str, digest: str) -> tuple[dict[str, JSON], str] | None:
    """Find evidence that contains the message with this digest. Return the message and the path."""
    for channel, file in islice(evidence_files(bus, msg_id), MAX_SEARCHED):
        message = (read_evidence(bus, channel, file) or {}).get(_MESSAGE_KEY)
        if isinstance(message, dict) and digest_of(message) == digest:
            return message, bus.shown(channel, file)
    return None


def clear_unfinished(bus: BusFolders) -> None:
    """Remove temporary files of processes that died while they wrote."""
    for folder in FOLDERS:
        for name in bus.names(folder):
            found = _UNFINISHED.fullmatch(name)
            if found is not None and is_dead(owner_of(found[1])):
                try_remove(bus.folder(folder), name)


def _write_file(folder: int, data: bytes, names: Iterable[str]) -> str:
    """Write a file under the first free name of these. Raises FileExistsError if none is free."""
    temporary = write_temporary(folder, _TEMPORARY.format(owner_tag()), data, mode=0o666)
    try:
        final = _rename_to_free(folder, temporary, names)
    except OSError:
        try_remove(folder, temporary)
        raise
    os.fsync(folder)  # so that the name survives a power failure
    return final


def _rename_to_free(folder: int, temporary: str, names: Iterable[str]) -> str:
    for name in names:
        with suppress(FileExistsError):  # another process took this name
            move_new(folder, temporary, folder, name)
            return name
    raise FileExistsError


def _free_number(folder: int, stem: str) -> int:
    """Find a free number whose predecessor is taken, by bisection: there may be many files."""
    taken, free = 0, 1
    while _is_taken(folder, f"{stem}.{free}.json"):
        taken, free = free, free * 2
    while free - taken > 1:
        middle = (taken + free) // 2
        if _is_taken(folder, f"{stem}.{middle}.json"):
            taken = middle
        else:
            free = middle
    return free


def _number_of(file: str, name: str) -> int | None:
    """The number of an evidence file for a name; None for any other file."""
    numbered = _NUMBERED.fullmatch(file) if file.startswith(f"{slug(name)}.") else None
    return int(numbered[1]) if numbered else None


def _is_taken(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _encode_bounded(body: Mapping[str, JSON]) -> bytes:
    """Encode a body as JSON of limited size, without control characters."""
    data = _encode(body, indent=2)
    if len(data) > MAX_EVIDENCE_BYTES:
        data = _encode(body)
    for limit in _TEXT_LIMITS:
        if len(data) <= MAX_EVIDENCE_BYTES:
            return data
        short = {key: _shorten(value, limit) for key, value in body.items() if key != _MESSAGE_KEY}
        data = _encode({**body, **short})
    if len(data) > MAX_EVIDENCE_BYTES:
        raise BylawError(f"the evidence is larger than {MAX_EVIDENCE_BYTES:,} bytes")
    return data


def _encode(body: Mapping[str, JSON], indent: int | None = None) -> bytes:
    text = json.dumps(body, ensure_ascii=False, allow_nan=False, indent=indent)
    # JSON has escaped the line breaks of texts. Keep those of the layout.
    return "\n".join(map(visible_in_json, text.split("\n"))).encode() + b"\n"


def _shorten(value: JSON, limit: int) -> JSON:
    match value:
        case str():
            return clip_text(value, limit)
        case list():
            return [_shorten(one, limit) for one in value]
        case dict():
            return {key: _shorten(one, limit) for key, one in value.items()}
        case _:
            return value


def subject(event: Event) -> str:
    """The id of a message, or `fs-SEQ` for a file change. Always valid in a file name."""
    if isinstance(event, File):
        return f"fs-{event.seq}"
    return message_id(event) or slug(event.file if isinstance(event, Bus) else "")


def id_time(at: int) -> str:
    """The first part of an id: `YYYYMMDD_HHMMSS`, in UTC."""
    day, _, time = iso_time(at).partition("T")
    return f"{day.replace('-', '')}_{time[:8].replace(':', '')}"


def message_id(event: Event) -> str:
    """The id of a message; empty if it is missing or invalid."""
    found = message_field(event, "msg_id")
    return found if isinstance(found, str) and is_message_id(found) else ""


_COMMAND_KEYS = ("argv", "exit_code", "signal", "ending", "error", "isolation", "cut")


def evidence_body(
    event: Event, due: DueStep, text: str, root: str, journal: Journal
) -> dict[str, JSON]:
    """The body of the evidence of a step."""
    done = list(read_effects(journal, event.session, event.seq)) if _has_commands(due) else []
    return {
        **heading_fields(event, due.plan.rule, due.plan.uid, text),
        "commands": [_command_fields(one, root) for one in done if one.op is Op.COMMAND_RUN],
        **_failure_fields(done),
        **subject_fields(event),
    }


def heading_fields(event: Event, rule: str, uid: str, text: str) -> dict[str, JSON]:
    """The rule, its text and the time."""
    return {
        "id": str(uuid4()),
        "ts": iso_time(event.at),
        "type": EVIDENCE,
        "seq": event.seq,
        "rule": rule,
        "uid": uid,
        "text": text,
    }


def subject_fields(event: Event) -> dict[str, JSON]:
    """The file change or the complete message that it is about (LD-035, LD-036)."""
    if isinstance(event, File):
        change: dict[str, JSON] = {
            "type": event.change.value,
            "path": event.path,
            "ts": iso_time(event.at),
            "actor_hint": event.actor.value,
        }
        return {"event": change | ({"old_path": event.old_path} if event.old_path else {})}
    if not isinstance(event, Bus):
        return {}
    return {
        "msg_id": message_id(event) or None,
        "origin_ref": message_field(event, "origin_ref"),
        "created_by": message_field(event, "created_by"),
        "file": event.file,
        "digest": event.digest,
        "message": event.message,
    }


def _has_commands(due: DueStep) -> bool:
    return any(step.op is Op.COMMAND_RUN for step in due.plan.steps)


def _command_fields(effect: EffectDone, root: str) -> JSON:
    """Command, folder, exit code and both streams, which have a limited size (LD-104)."""
    said = effect.result if isinstance(effect.result, dict) else {}
    argv, cwd = said.get("argv"), as_text(said.get("cwd"))
    told: dict[str, JSON] = {
        "status": effect.status.value,
        "command": join(map(str, argv)) if isinstance(argv, list) else "",
        "cwd": relative_name(real_path(root), cwd) or cwd,
    }
    told |= {key: said[key] for key in _COMMAND_KEYS if key in said}
    return told | {"stdout": said.get("result"), "stderr": said.get("stderr"), "ms": effect.ms}


def _failure_fields(done: Iterable[EffectDone]) -> dict[str, JSON]:
    """The first step that failed."""
    for one in done:
        if one.status is not EffectStatus.OK:
            said = one.result.get("error") if isinstance(one.result, dict) else None
            return {"failed": {"op": one.op.value, "status": one.status.value, "error": said}}
    return {}
