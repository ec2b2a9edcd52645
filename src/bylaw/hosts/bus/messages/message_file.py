"""Read the message in a file of `input`, once the file is complete.

Any program may write messages, so a file may be seen half-written. It is not ready
    while another process has it open for writing, if the system can tell,
    until it was not written for 100 ms,
    and, if it contains no acceptable message, until it was not written for 2 s.
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
MAX_MESSAGE_NAME_BYTES = 150  # so that the name of a claim can contain it
QUIET_S = 0.1
PATIENCE_S = 2.0  # for files without an acceptable message
WRITER_S = 0.25  # until the next check whether a writer has finished
MAX_WHY = 500

_NEVER = ("~", ".tmp", ".part", ".swp")
_YAML = (".yaml", ".yml")
_JSON = ".json"
_CANONICAL = msgspec.json.Encoder(order="deterministic")


class MessageFile(Struct, frozen=True, kw_only=True):
    """The content of a file: a message, or the reason why it has none (`unreadable`).

    The digest of a message does not depend on its format. Without a message, it is the digest of
    `raw`. `whole` is false if the file contains more than `raw`.
    """

    name: str  # with hidden characters escaped
    message: JSON = None
    digest: str
    unreadable: str = ""
    raw: bytes = b""
    whole: bool = True


class Ready(Struct, frozen=True):
    """A complete file. `claim` needs the stamp."""

    file: MessageFile
    stamp: Stamp


class NotYet(Struct, frozen=True):
    """A file that may still be written. Check it again after `wait_s`."""

    wait_s: float
    why: str


class Ignored(Struct, frozen=True):
    """A file that is gone, a folder, or a name that cannot be a message."""


def may_be_message(name: str) -> bool:
    """Whether a file with this name can be a message. Names of temporary files cannot."""
    return not name.startswith(".") and not name.lower().endswith(_NEVER)


def look(bus: BusFolders, name: str, complete: Callable[[JSON], bool]) -> Ready | NotYet | Ignored:
    """Read a file of `input`. If `complete` is false for its message, wait for `PATIENCE_S`."""
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
            return NotYet(WRITER_S, "another process has it open for writing")
        found = _read(bus.input, name, name)
        after = os.stat(as_bytes(name), dir_fd=bus.input, follow_symlinks=False)
    except FileNotFoundError:
        return Ignored()
    if stamp_of(before) != stamp_of(after):
        return NotYet(QUIET_S, "it has just been written")
    if quiet < PATIENCE_S and (found.unreadable or not complete(found.message)):
        return NotYet(PATIENCE_S - quiet, "it may be incomplete")
    return Ready(found, stamp_of(after))


def unchanged(bus: BusFolders, name: str, digest: str) -> MessageFile | None:
    """Read a file of `input` that may just have been moved back; None if its digest differs."""
    with suppress(OSError):
        file = _read(bus.input, name, name)
        return file if file.digest == digest else None
    return None


def read_claimed(bus: BusFolders, claim: Claim) -> MessageFile:
    """Read a claimed file. Raises OSError if it is gone."""
    return _read(bus.processing, claim.file, claim.name)


def digest_of(message: JSON) -> str:
    """The digest of a message, independent of its file format."""
    return sha256(_CANONICAL.encode(message)).hexdigest()


def is_being_written(folder: int, name: str) -> bool:
    """Whether a process has a file open for writing; False if the system cannot tell."""
    with suppress(OSError, ValueError), open_regular(name, links=False, folder=folder) as file:
        try:
            # If a writer opens the file at this moment, the system sends a signal. SIGURG does
            # nothing; the default, SIGIO, would end this process.
            fcntl.fcntl(file, fcntl.F_SETSIG, signal.SIGURG)
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        except OSError as refused:
            return refused.errno == errno.EAGAIN
    return False


def _quiet_s(found: os.stat_result) -> float:
    """Seconds since the last write. Uses ctime, because any program can set mtime."""
    quiet = time() - found.st_ctime
    # A clock that was set back must not block a message forever.
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
        return "it is not a regular file"
    return in_plain_words(wrong)


def _parsed(name: str, raw: bytes) -> JSON:
    """Parse the message. Raises BylawError with the reason if there is none."""
    ending = name.lower()
    if visible(name) != name:
        raise BylawError("its name contains an invisible character")
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
        raise BylawError("a message cannot contain `.inf` or `.nan`")
    return message


def _refuse_keys(source: SourceFile, node: Node) -> None:
    """Raise BylawError if a key is not a text: JSON has no other keys."""
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
                        raise BylawError(f"line {line}: the key `{key}` is not a text; quote it")
                    inside.append(pair.value)
