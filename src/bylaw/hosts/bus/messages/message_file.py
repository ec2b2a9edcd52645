"""A file of `input`, once it is written to its end → the message in it, or why there is none.

Writers of messages are plain programs: a file may be seen half-written. So it is not ready
    while somebody has it open for writing, if the system tells,
    until nobody has written to it for 100 ms,
    and until nobody has for 2 s, if it holds no message that could be taken.
"""

from __future__ import annotations

import errno
import fcntl
import os
import signal
from contextlib import suppress
from hashlib import sha256
from stat import S_ISDIR
from time import time
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from bylaw.dialects.yaml import Mapping, Node, Sequence, load_yaml
from bylaw.hosts.bus.messages.claims import Stamp, stamp_of
from bylaw.model.errors import BylawError, LoadError
from bylaw.model.source import BOM, EncodingError, SourceFile
from bylaw.model.strict_json import JsonError, read_json
from bylaw.model.values import is_finite
from bylaw.model.visible import clipped, visible
from bylaw.runtime.paths import as_bytes
from bylaw.runtime.reading import in_plain_words, open_regular, read_at_most

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.hosts.bus.messages.claims import Claim
    from bylaw.hosts.bus.messages.folders import BusFolders
    from bylaw.model.values import JSON

MAX_MESSAGE_BYTES = 256 * 1024
MAX_MESSAGE_NAME_BYTES = 150  # so that the name of a claim holds all of it
QUIET_S = 0.1
PATIENCE_S = 2.0  # for what cannot be taken as it is
WRITER_S = 0.25  # until it is looked again whether a writer is through
MAX_WHY = 500

_NEVER = ("~", ".tmp", ".part", ".swp")
_YAML = (".yaml", ".yml")
_JSON = ".json"
_CANONICAL = msgspec.json.Encoder(order="deterministic")


class MessageFile(Struct, frozen=True, kw_only=True):
    """What a file holds: a message, or why there is none (`unreadable`).

    The digest of a message does not depend on how it is written; without one it is that of `raw`.
    `whole` tells whether `raw` is everything that is in the file.
    """

    name: str  # as people see it
    message: JSON = None
    digest: str
    unreadable: str = ""
    raw: bytes = b""
    whole: bool = True


class Ready(Struct, frozen=True):
    """A file that is written to its end; the stamp is for `claim`."""

    file: MessageFile
    stamp: Stamp


class NotYet(Struct, frozen=True):
    """A file that somebody may be writing; it is worth another look after `wait_s`."""

    wait_s: float
    why: str


class Ignored(Struct, frozen=True):
    """Nothing that could become a message under this name."""


def may_be_message(name: str) -> bool:
    """Whether a file of this name is looked at; programs write under other names first."""
    return not name.startswith(".") and not name.lower().endswith(_NEVER)


def look(bus: BusFolders, name: str, complete: Callable[[JSON], bool]) -> Ready | NotYet | Ignored:
    """What a file of `input` holds; `complete` tells whether a message need not be waited for."""
    if not may_be_message(name):
        return Ignored()
    try:
        before = os.stat(as_bytes(name), dir_fd=bus.input, follow_symlinks=False)
        if S_ISDIR(before.st_mode):
            return Ignored()
        quiet = _quiet_s(before)
        if quiet < QUIET_S:
            return NotYet(QUIET_S - quiet, "it has just been written")
        if is_being_written(bus.input, name):
            return NotYet(WRITER_S, "somebody has it open for writing")
        found = _read(bus.input, name, name)
        after = os.stat(as_bytes(name), dir_fd=bus.input, follow_symlinks=False)
    except FileNotFoundError:
        return Ignored()
    if stamp_of(before) != stamp_of(after):
        return NotYet(QUIET_S, "it has just been written")
    if quiet < PATIENCE_S and (found.unreadable or not complete(found.message)):
        return NotYet(PATIENCE_S - quiet, "it may not be written to its end")
    return Ready(found, stamp_of(after))


def unchanged(bus: BusFolders, name: str, digest: str) -> MessageFile | None:
    """A file of `input` if it holds what is known: then it was only moved back just now."""
    with suppress(OSError):
        file = _read(bus.input, name, name)
        return file if file.digest == digest else None
    return None


def read_claimed(bus: BusFolders, claim: Claim) -> MessageFile:
    """What a claimed file holds; OSError if it is gone."""
    return _read(bus.processing, claim.file, claim.name)


def digest_of(message: JSON) -> str:
    """The digest of a message, however it is written."""
    return sha256(_CANONICAL.encode(message)).hexdigest()


def is_being_written(folder: int, name: str) -> bool:
    """Whether somebody has a file open for writing; False also if the system does not tell."""
    with suppress(OSError, ValueError), open_regular(name, links=False, folder=folder) as file:
        try:
            # Should a writer come at this very moment, we get a signal that does nothing; the
            # usual one would end us.
            fcntl.fcntl(file, fcntl.F_SETSIG, signal.SIGURG)
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        except OSError as refused:
            return refused.errno == errno.EAGAIN
    return False


def _quiet_s(found: os.stat_result) -> float:
    """Since when nobody has written; not by the time of writing, which anybody can set."""
    quiet = time() - found.st_ctime
    # A clock that was set back must not stop a message for good.
    return quiet if quiet > -PATIENCE_S else PATIENCE_S


def _read(folder: int, file: str, name: str) -> MessageFile:
    try:
        with open_regular(file, links=False, folder=folder) as descriptor:
            raw = read_at_most(descriptor, MAX_MESSAGE_BYTES)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as wrong:
        return _unreadable(name, b"", _why(wrong), whole=False)
    if len(raw) > MAX_MESSAGE_BYTES:
        why = f"it is larger than {MAX_MESSAGE_BYTES:,} bytes"
        return _unreadable(name, raw, why, whole=False)
    try:
        message = _parsed(name, raw)
    except BylawError as wrong:
        return _unreadable(name, raw, str(wrong))
    return MessageFile(name=visible(name), message=message, digest=digest_of(message), raw=raw)


def _unreadable(name: str, raw: bytes, why: str, *, whole: bool = True) -> MessageFile:
    why = clipped(visible(why), MAX_WHY)
    digest = sha256(raw).hexdigest()
    return MessageFile(name=visible(name), digest=digest, unreadable=why, raw=raw, whole=whole)


def _why(wrong: OSError | ValueError) -> str:
    if getattr(wrong, "errno", None) == errno.ELOOP:
        return "it is a link"
    if getattr(wrong, "errno", None) == errno.ENXIO:
        return "it is no regular file"
    return in_plain_words(wrong)


def _parsed(name: str, raw: bytes) -> JSON:
    """The message; BylawError if there is none."""
    ending = name.lower()
    if visible(name) != name:
        raise BylawError("its name holds a character that cannot be seen")
    if len(as_bytes(name)) > MAX_MESSAGE_NAME_BYTES:
        raise BylawError(f"its name is longer than {MAX_MESSAGE_NAME_BYTES} bytes")
    if not ending.endswith((*_YAML, _JSON)):
        raise BylawError("unsupported format: a message is a `.yaml`, `.yml` or `.json` file")
    try:
        source = SourceFile.decode(name, raw)
    except EncodingError as wrong:
        raise BylawError(f"it is not UTF-8 text: byte 0x{wrong.byte:02x}") from None
    return _of_json(source) if ending.endswith(_JSON) else _of_yaml(source)


def _of_json(source: SourceFile) -> JSON:
    text = source.text.removeprefix(BOM)
    try:
        return read_json(text)
    except JsonError as wrong:
        line = SourceFile(source.path, text).position(wrong.span.start).line
        raise BylawError(f"line {line}: {wrong.told_of('it is')}") from None


def _of_yaml(source: SourceFile) -> JSON:
    try:
        node = load_yaml(source)
    except LoadError as wrong:
        first = wrong.diagnostics[0]
        line = source.position(first.span.start).line
        raise BylawError(f"line {line}: {first.headline}") from None
    _refuse_keys(source, node)
    message: JSON = node.to_python()  # type: ignore[assignment] # its keys are texts
    if not is_finite(message):
        raise BylawError("`.inf` and `.nan` are no values of a message")
    return message


def _refuse_keys(source: SourceFile, node: Node) -> None:
    """BylawError if a key is no text: in JSON there are no others."""
    inside: list[Node] = [node]
    while inside:
        match inside.pop():
            case Sequence(items=items):
                inside += items
            case Mapping(pairs=pairs):
                for pair in pairs:
                    if not isinstance(pair.key.value, str):
                        line = source.position(pair.key.span.start).line
                        key = source.slice(pair.key.span)
                        raise BylawError(f"line {line}: the key `{key}` is no text; quote it")
                    inside.append(pair.value)
