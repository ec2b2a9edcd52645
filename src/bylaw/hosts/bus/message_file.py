"""Read the message in a file of `input`, once it is complete, and claim it.

Any program may write messages, so a file may be seen half-written. It is not ready while another
process has it open for writing (if the system can tell), until it was not written for 100 ms, and,
if it contains no acceptable message, until it was not written for 2 s.

A message is claimed by renaming it to processing/NAME.BOOT_SPACE_PID_STARTED_RANDOM. Only one
process can do that, and others can check whether that process is dead. After a power failure a
file may be in its old folder; the ledger knows what happened to the message.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import signal
from contextlib import suppress
from hashlib import sha256
from stat import S_ISDIR
from time import time
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec import Struct

from bylaw.hosts.bus.folders import (
    ERROR,
    OWNER_TAG,
    PROCESSING,
    owner_of,
    owner_tag,
    split_ending,
    with_tail,
)
from bylaw.languages.yaml import Node, YamlMapping, YamlSequence, load_yaml
from bylaw.model.display import clip_text, visible
from bylaw.model.errors import BylawError, LoadError
from bylaw.model.source import BOM, EncodingError, SourceFile
from bylaw.model.values import JsonError, is_finite, read_json
from bylaw.store.files import move_new, open_regular, os_error_text, read_at_most
from bylaw.store.paths import as_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.hosts.bus.folders import BusFolders
    from bylaw.model.values import JSON

MAX_TRIES = 1000  # names that are tried for a file that is moved back

_CLAIM = re.compile(rf"(?P<name>.+)\.(?P<owner>{OWNER_TAG})_[0-9a-f]{{16}}", re.DOTALL)


class FileStamp(NamedTuple):
    """Identifies a file and its content. Writing changes it, renaming does not."""

    device: int
    inode: int
    size: int
    written_ns: int


class Claim(Struct, frozen=True):
    """A message in `processing`: `name` was its name in `input`, `file` is its present name."""

    name: str
    file: str

    @property
    def owner(self) -> str:
        """The process that claimed it, in the form of `runtime/owner`."""
        found = _CLAIM.fullmatch(self.file)
        return owner_of(found["owner"]) if found else ""


def stamp_of(found: os.stat_result) -> FileStamp:
    """Make the stamp of a file."""
    return FileStamp(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def claim(bus: BusFolders, name: str, stamp: FileStamp) -> Claim | None:
    """Claim a message for this process; None if it is gone or has changed since `stamp`."""
    got = _move(bus, bus.input, name, name)
    if got is not None and not _has_stamp(bus, got, stamp):
        move_back(bus, got)
        return None
    return got


def take_over(bus: BusFolders, of: Claim) -> Claim | None:
    """Take over the claim of a dead process; None if another process was faster."""
    return _move(bus, bus.processing, of.file, of.name)


def move_back(bus: BusFolders, of: Claim) -> str | None:
    """Move a message back to `input`. Return its name there, or None if the claim is gone.

    If its name is taken, the message gets a new one with the same ending.
    """
    stem, ending = split_ending(of.name)
    for n in range(1, MAX_TRIES + 1):
        back = of.name if n == 1 else with_tail(stem, f"-{n}{ending}")
        try:
            move_new(bus.processing, of.file, bus.input, back)
        except FileExistsError:
            continue
        except FileNotFoundError:
            return None
        return back
    raise FileExistsError(f"`{of.name}` and {MAX_TRIES} names like it are taken")


def remove_claim(bus: BusFolders, of: Claim) -> None:
    """Remove a message that has ended and whose evidence contains it."""
    with suppress(FileNotFoundError):
        os.unlink(as_bytes(of.file), dir_fd=bus.processing)


def move_to_error(bus: BusFolders, of: Claim) -> str:
    """Move a message that evidence cannot contain to `error`. Return its path from the root."""
    os.rename(
        as_bytes(of.file),
        as_bytes(of.file),
        src_dir_fd=bus.processing,
        dst_dir_fd=bus.folder(ERROR),
    )
    return bus.shown(ERROR, of.file)


def list_claims(bus: BusFolders) -> list[Claim]:
    """The claims in `processing`."""
    found = map(_CLAIM.fullmatch, bus.names(PROCESSING))
    return [Claim(one["name"], one[0]) for one in found if one is not None]


def _move(bus: BusFolders, folder: int, file: str, name: str) -> Claim | None:
    token = f"{owner_tag()}_{os.urandom(8).hex()}"
    stem, ending = split_ending(name)
    got = Claim(name, with_tail(stem, f"{ending}.{token}"))
    try:
        os.rename(as_bytes(file), as_bytes(got.file), src_dir_fd=folder, dst_dir_fd=bus.processing)
    except FileNotFoundError:
        return None
    return got


def _has_stamp(bus: BusFolders, of: Claim, stamp: FileStamp) -> bool:
    found = os.stat(as_bytes(of.file), dir_fd=bus.processing, follow_symlinks=False)
    return stamp_of(found) == stamp


MAX_MESSAGE_BYTES = 256 * 1024
MAX_MESSAGE_NAME_BYTES = 150  # so that the name of a claim can contain it
QUIET_S = 0.1
PATIENCE_S = 2.0  # for files without an acceptable message
WRITER_S = 0.25  # until the next check whether a writer has finished
MAX_WHY = 500

_TEMPORARY_ENDINGS = ("~", ".tmp", ".part", ".swp")
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


class ReadyFile(Struct, frozen=True):
    """A complete file. `claim` needs the stamp."""

    file: MessageFile
    stamp: FileStamp


class NotYet(Struct, frozen=True):
    """A file that may still be written. Check it again after `wait_s`."""

    wait_s: float
    why: str


class IgnoredFile(Struct, frozen=True):
    """A file that is gone, a folder, or a name that cannot be a message."""


def may_be_message(name: str) -> bool:
    """Whether a file with this name can be a message. Names of temporary files cannot."""
    return not name.startswith(".") and not name.lower().endswith(_TEMPORARY_ENDINGS)


def read_message_file(
    bus: BusFolders, name: str, complete: Callable[[JSON], bool]
) -> ReadyFile | NotYet | IgnoredFile:
    """Read a file of `input`. If `complete` is false for its message, wait for `PATIENCE_S`."""
    if not may_be_message(name):
        return IgnoredFile()
    try:
        before = os.stat(as_bytes(name), dir_fd=bus.input, follow_symlinks=False)
        if S_ISDIR(before.st_mode):
            return IgnoredFile()
        quiet = _quiet_s(before)
        if quiet < QUIET_S:
            return NotYet(QUIET_S - quiet, "it has just been written")
        if is_being_written(bus.input, name):
            return NotYet(WRITER_S, "another process has it open for writing")
        found = _read_file(bus.input, name, name)
        after = os.stat(as_bytes(name), dir_fd=bus.input, follow_symlinks=False)
    except FileNotFoundError:
        return IgnoredFile()
    if stamp_of(before) != stamp_of(after):
        return NotYet(QUIET_S, "it has just been written")
    if quiet < PATIENCE_S and (found.unreadable or not complete(found.message)):
        return NotYet(PATIENCE_S - quiet, "it may be incomplete")
    return ReadyFile(found, stamp_of(after))


def read_if_unchanged(bus: BusFolders, name: str, digest: str) -> MessageFile | None:
    """Read a file of `input` that may just have been moved back; None if its digest differs."""
    with suppress(OSError):
        file = _read_file(bus.input, name, name)
        return file if file.digest == digest else None
    return None


def read_claimed(bus: BusFolders, claim: Claim) -> MessageFile:
    """Read a claimed file. Raises OSError if it is gone."""
    return _read_file(bus.processing, claim.file, claim.name)


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


def _read_file(folder: int, file: str, name: str) -> MessageFile:
    try:
        with open_regular(file, links=False, folder=folder) as descriptor:
            raw = read_at_most(descriptor, MAX_MESSAGE_BYTES)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as wrong:
        return _unreadable_file(name, b"", _error_text(wrong), whole=False)
    if len(raw) > MAX_MESSAGE_BYTES:
        why = f"it is larger than {MAX_MESSAGE_BYTES:,} bytes"
        return _unreadable_file(name, raw, why, whole=False)
    try:
        message = _parse(name, raw)
    except BylawError as wrong:
        return _unreadable_file(name, raw, str(wrong))
    return MessageFile(name=visible(name), message=message, digest=digest_of(message), raw=raw)


def _unreadable_file(name: str, raw: bytes, why: str, *, whole: bool = True) -> MessageFile:
    why = clip_text(visible(why), MAX_WHY)
    digest = sha256(raw).hexdigest()
    return MessageFile(name=visible(name), digest=digest, unreadable=why, raw=raw, whole=whole)


def _error_text(wrong: OSError | ValueError) -> str:
    if getattr(wrong, "errno", None) == errno.ELOOP:
        return "it is a link"
    if getattr(wrong, "errno", None) == errno.ENXIO:
        return "it is not a regular file"
    return os_error_text(wrong)


def _parse(name: str, raw: bytes) -> JSON:
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
    return _parse_json(source) if ending.endswith(_JSON) else _parse_yaml(source)


def _parse_json(source: SourceFile) -> JSON:
    text = source.text.removeprefix(BOM)
    try:
        return read_json(text)
    except JsonError as wrong:
        line = SourceFile(source.path, text).position(wrong.span.start).line
        raise BylawError(f"line {line}: {wrong.sentence_about('it is')}") from None


def _parse_yaml(source: SourceFile) -> JSON:
    try:
        node = load_yaml(source)
    except LoadError as wrong:
        first = wrong.diagnostics[0]
        line = source.position(first.span.start).line
        raise BylawError(f"line {line}: {first.headline}") from None
    _require_text_keys(source, node)
    message: JSON = node.to_python()  # type: ignore[assignment] # its keys are texts
    if not is_finite(message):
        raise BylawError("a message cannot contain `.inf` or `.nan`")
    return message


def _require_text_keys(source: SourceFile, node: Node) -> None:
    """Raise BylawError if a key is not a text: JSON has no other keys."""
    inside: list[Node] = [node]
    while inside:
        match inside.pop():
            case YamlSequence(items=items):
                inside += items
            case YamlMapping(pairs=pairs):
                for pair in pairs:
                    if not isinstance(pair.key.value, str):
                        line = source.position(pair.key.span.start).line
                        key = source.slice(pair.key.span)
                        raise BylawError(f"line {line}: the key `{key}` is not a text; quote it")
                    inside.append(pair.value)
