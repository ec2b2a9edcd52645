"""Write evidence and new messages to the bus. A file is complete as soon as it is visible.

    error/NAME.RULE.N.json   input/MSG_ID.json

N is the first free number. A file is written under a temporary name, synced to disk, and then
renamed to a free name. So no file is overwritten, and no reader sees a partial file.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from hashlib import sha256
from itertools import count, islice
from typing import TYPE_CHECKING

from bylaw.hosts.bus.messages.folders import ERROR, FOLDERS, INPUT, OUTPUT
from bylaw.hosts.bus.messages.message_file import digest_of
from bylaw.hosts.bus.messages.moving import OWNER_TAG, owner_of, owner_tag
from bylaw.model.errors import BylawError
from bylaw.model.strict_json import JsonError, decode_utf8, read_json
from bylaw.model.visible import clipped, visible_in_json
from bylaw.runtime.owner import is_dead
from bylaw.runtime.paths import as_bytes
from bylaw.runtime.reading import in_plain_words, regular_bytes
from bylaw.runtime.writing import clear_away, move_new, write_beside

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from bylaw.hosts.bus.messages.folders import BusFolders
    from bylaw.model.values import JSON

MAX_EVIDENCE_BYTES = 4 * 1024 * 1024
MAX_SLUG = 100
MAX_LOOKED_AT = 100  # evidence files that are searched for a message

_UNFIT = re.compile(r"[^A-Za-z0-9_-]+")
_NUMBERED = re.compile(r".+\.([0-9]{1,18})\.json")
_DIGEST_CHARS = 8
_TEMPORARY = ".new-{}"
_UNFINISHED = re.compile(rf"\.new-({OWNER_TAG})\.[0-9a-f]{{16}}")
# The lengths to which each text is cut, one after the other, until the evidence is small enough.
# The message is never cut, because its file is removed (LD-035, LD-036).
_SHORTER = (64 * 1024, 4 * 1024, 256)
_WHOLE = "message"


class MessageTakenError(BylawError):
    """`input` already has a message with this id."""


def slug(text: str) -> str:
    """Convert a text to a part of a file name: 1 to 100 of `[A-Za-z0-9_-]`."""
    fit = _UNFIT.sub("-", text)
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
    data = _bounded(body)
    try:
        names = (f"{stem}.{n}.json" for n in count(_free(folder, stem)))
        return bus.shown(channel, _put(folder, data, names))
    except OSError as wrong:
        place = bus.shown(channel, stem)
        raise BylawError(f"cannot write the evidence `{place}`: {in_plain_words(wrong)}") from None


def write_message(bus: BusFolders, message: Mapping[str, JSON]) -> str:
    """Write a message to `input` under its id and return its path.

    Raises MessageTakenError if the name exists, BylawError if it cannot be written.
    """
    name = f"{slug(str(message.get('msg_id', '')))}.json"
    place = bus.shown(INPUT, name)
    try:
        _put(bus.input, message_bytes(message), [name])
    except FileExistsError:
        raise MessageTakenError(f"the message `{place}` already exists") from None
    except OSError as wrong:
        raise BylawError(f"cannot write the message `{place}`: {in_plain_words(wrong)}") from None
    return place


def message_bytes(message: Mapping[str, JSON]) -> bytes:
    """The bytes of a message file."""
    return _encoded(message, indent=2)


def evidence_files(bus: BusFolders, name: str) -> Iterator[tuple[str, str]]:
    """Yield the folder and the file name of all evidence for a name."""
    for channel in (OUTPUT, ERROR):
        for file in bus.names(channel):
            if _number(file, name) is not None:
                yield channel, file


def newest_error(bus: BusFolders, files: Iterable[str], name: str) -> str | None:
    """Return the evidence for a name that was written last, among these files of `error`."""
    found: list[tuple[int, int, str]] = []
    for file in files:
        number = _number(file, name)
        if number is not None:
            with suppress(FileNotFoundError):
                written = os.stat(as_bytes(file), dir_fd=bus.folder(ERROR), follow_symlinks=False)
                # The clock of files is coarse, so the number decides between equal times.
                found.append((written.st_mtime_ns, number, file))
    return max(found)[-1] if found else None


def read_evidence(bus: BusFolders, channel: str, file: str) -> dict[str, JSON] | None:
    """Read evidence; None if the file is gone or is not evidence."""
    try:
        data = regular_bytes(file, MAX_EVIDENCE_BYTES, links=False, folder=bus.folder(channel))
        body = read_json(decode_utf8(data))
    except (OSError, ValueError, JsonError):
        return None
    return body if isinstance(body, dict) else None


def held_message(bus: BusFolders, msg_id: str, digest: str) -> tuple[dict[str, JSON], str] | None:
    """Find evidence that contains the message with this digest. Return the message and the path."""
    for channel, file in islice(evidence_files(bus, msg_id), MAX_LOOKED_AT):
        message = (read_evidence(bus, channel, file) or {}).get(_WHOLE)
        if isinstance(message, dict) and digest_of(message) == digest:
            return message, bus.shown(channel, file)
    return None


def clear_unfinished(bus: BusFolders) -> None:
    """Remove temporary files of processes that died while they wrote."""
    for folder in FOLDERS:
        for name in bus.names(folder):
            found = _UNFINISHED.fullmatch(name)
            if found is not None and is_dead(owner_of(found[1])):
                clear_away(bus.folder(folder), name)


def _put(folder: int, data: bytes, names: Iterable[str]) -> str:
    """Write a file under the first free name of these. Raises FileExistsError if none is free."""
    temporary = write_beside(folder, _TEMPORARY.format(owner_tag()), data, mode=0o666)
    try:
        final = _named(folder, temporary, names)
    except OSError:
        clear_away(folder, temporary)
        raise
    os.fsync(folder)  # so that the name survives a power failure
    return final


def _named(folder: int, temporary: str, names: Iterable[str]) -> str:
    for name in names:
        with suppress(FileExistsError):  # another process took this name
            move_new(folder, temporary, folder, name)
            return name
    raise FileExistsError


def _free(folder: int, stem: str) -> int:
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


def _number(file: str, name: str) -> int | None:
    """The number of an evidence file for a name; None for any other file."""
    numbered = _NUMBERED.fullmatch(file) if file.startswith(f"{slug(name)}.") else None
    return int(numbered[1]) if numbered else None


def _is_taken(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _bounded(body: Mapping[str, JSON]) -> bytes:
    """Encode a body as JSON of limited size, without control characters."""
    data = _encoded(body, indent=2)
    if len(data) > MAX_EVIDENCE_BYTES:
        data = _encoded(body)
    for limit in _SHORTER:
        if len(data) <= MAX_EVIDENCE_BYTES:
            return data
        short = {key: _shortened(value, limit) for key, value in body.items() if key != _WHOLE}
        data = _encoded({**body, **short})
    if len(data) > MAX_EVIDENCE_BYTES:
        raise BylawError(f"the evidence is larger than {MAX_EVIDENCE_BYTES:,} bytes")
    return data


def _encoded(body: Mapping[str, JSON], indent: int | None = None) -> bytes:
    text = json.dumps(body, ensure_ascii=False, allow_nan=False, indent=indent)
    # JSON has escaped the line breaks of texts. Keep those of the layout.
    return "\n".join(map(visible_in_json, text.split("\n"))).encode() + b"\n"


def _shortened(value: JSON, limit: int) -> JSON:
    match value:
        case str():
            return clipped(value, limit)
        case list():
            return [_shortened(one, limit) for one in value]
        case dict():
            return {key: _shortened(one, limit) for key, one in value.items()}
        case _:
            return value
