"""The files that the tools of a chat may read and change: below one folder, nowhere else.

Paths come from a model. An action that is not possible raises ToolError with the reason. In
addition to the files that are protected from every agent, the tools must not write ChatMD files,
which contain their own rules, or files of git. Of several changes all are made, or none: everything
that needs disk space is written first, then one rename replaces each file, and the old files are
kept until the last rename.
"""

from __future__ import annotations

import os
from codecs import getincrementaldecoder
from contextlib import ExitStack, contextmanager, suppress
from difflib import get_close_matches
from functools import partial
from itertools import islice
from stat import S_ISDIR, S_ISREG, S_ISVTX
from threading import Lock
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from bylaw.hosts.chat.tools.base import ToolError
from bylaw.hosts.protected_paths import GIT, Protection, protected_by_name
from bylaw.model.display import clip_text
from bylaw.store.files import (
    open_regular,
    os_error_text,
    read_at_most,
    remove,
    rename,
    temporary_name,
    try_remove,
    write_temporary,
)
from bylaw.store.paths import as_bytes, real_path
from bylaw.store.safe_paths import open_safe_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from bylaw.runtime.settings import ProtectSettings
    from bylaw.store.safe_paths import SafePath

    # Returns why a file must not be written, None if it may be.
    Protected = Callable[[str], str | None]


def protected_by_default(path: str) -> str | None:
    """Return why a file is protected with any set of rules, None if it is not."""
    return _git_reason(path) or protected_by_name(path) or _chat_reason(path)


def protection_check(root: str, settings: ProtectSettings, files: Iterable[str]) -> Protected:
    """Return the check that also protects `files`, such as the active rule files, and settings.

    If protection is disabled, only git is protected.
    """
    if not settings.enabled:
        return _git_reason
    top = real_path(root)
    kept = Protection(root, settings, tuple(files))

    def protected(path: str) -> str | None:
        return _git_reason(path) or kept.why(f"{top}/{path}") or _chat_reason(path)

    return protected


def _chat_reason(path: str) -> str | None:
    return "it holds a chat and its rules" if path.casefold().endswith(".chatmd") else None


def _git_reason(path: str) -> str | None:
    return "it belongs to git" if GIT in path.casefold().split("/") else None


_BOM = b"\xef\xbb\xbf"


class FileText(Struct, frozen=True):
    """The text of a file without its byte order mark. CRLF becomes LF if all lines end in it."""

    content: str = ""
    crlf: bool = False
    bom: bool = False

    @classmethod
    def decode(cls, data: bytes) -> FileText:
        """Decode the bytes of a file. Raises ValueError if they are not UTF-8."""
        bom = data.startswith(_BOM)
        content = decode_utf8(data.removeprefix(_BOM), len(_BOM) if bom else 0)
        breaks = content.count("\n")
        crlf = breaks > 0 and content.count("\r\n") == breaks
        return cls(content.replace("\r\n", "\n") if crlf else content, crlf, bom)

    def encode(self) -> bytes:
        """Return the bytes of the file. Raises ToolError if the text cannot be encoded."""
        content = self.content.replace("\n", "\r\n") if self.crlf else self.content
        try:
            data = content.encode()
        except UnicodeEncodeError:
            raise ToolError("the text contains a lone surrogate, which cannot be written") from None
        return _BOM + data if self.bom else data

    def holding(self, content: str) -> FileText:
        """Return another text in the form of this one."""
        return replace(self, content=content)

    def convert_line_breaks(self, given: str) -> str:
        """Return a given text with the line breaks of this text."""
        return given.replace("\r\n", "\n") if self.crlf else given


def decode_utf8(data: bytes, begins_at: int = 0, *, whole: bool = True) -> str:
    """Decode bytes. ValueError names the invalid byte, counted from the start of the file.

    Unless `whole`, a character that is cut off at the end is left out.
    """
    try:
        return getincrementaldecoder("utf-8")().decode(data, final=whole)
    except UnicodeDecodeError as wrong:
        at = begins_at + wrong.start
        why = f"it is not UTF-8 text: byte 0x{data[wrong.start]:02x} at {at:,}"
        raise ValueError(why) from None


MAX_EDITED_BYTES = 4 * 1024 * 1024
MAX_SHOWN = 200  # characters of a path, or of a line, in a message


class FileLocation(Struct, frozen=True):
    """Where a file is, or where it can be created.

    `asked` is the path as given, `path` the real path, and `state` the state of the file there,
    None if there is no file. `linked`: the last part of the given path is a link.
    """

    asked: str
    path: str
    state: os.stat_result | None
    linked: bool


class Files:
    """The files below a root."""

    def __init__(self, root: str, protected: Protected = protected_by_default) -> None:
        self.root = root
        self._protected = protected

    def spot(self, path: str) -> FileLocation:
        """Return where a file may be changed or created."""
        with tool_errors("write", path), open_safe_path(self.root, path, new=True) as place:
            why = self._protected(place.path)
            if why:
                raise ValueError(why)
            return FileLocation(path, place.path, state_of(place), place.linked)

    def text(self, spot: FileLocation) -> FileText:
        """Return the text of a file that will be changed. Only writable files are read."""
        with (
            tool_errors("change", spot.asked),
            open_safe_path(self.root, spot.path) as place,
            open_regular(place.name, os.O_RDWR, links=False, folder=place.folder) as file,
        ):
            if spot.state is None or not is_same(os.fstat(file), spot.state):
                raise ValueError(FILE_CHANGED)
            data = read_at_most(file, MAX_EDITED_BYTES)
            if len(data) > MAX_EDITED_BYTES:
                raise ValueError(f"it is larger than {MAX_EDITED_BYTES:,} bytes")
            return FileText.decode(data)


FILE_CHANGED = "it has changed in the meantime"


def state_of(place: SafePath) -> os.stat_result | None:
    """Return the state of a file, None if there is none. Raises an error if it is not regular."""
    if place.missing:
        return None
    try:
        state = os.stat(as_bytes(place.name), dir_fd=place.folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if S_ISDIR(state.st_mode):
        raise IsADirectoryError
    if not S_ISREG(state.st_mode):
        raise ValueError("it is not a regular file")
    return state


def is_same(one: os.stat_result | None, other: os.stat_result | None) -> bool:
    """Whether a file is still the same one and unchanged."""
    if one is None or other is None:
        return one is other
    return _identity(one) == _identity(other)


def _identity(state: os.stat_result) -> tuple[int, ...]:
    return state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns


@contextmanager
def tool_errors(act: str, path: str) -> Iterator[None]:
    """Turn an error of the system or of a check into a ToolError: `tool_errors ACT PATH: why`."""
    try:
        yield
    except (OSError, ValueError) as wrong:
        raise ToolError(f"cannot {act} `{show_text(path)}`: {os_error_text(wrong)}") from None


def show_text(text: str) -> str:
    """Return foreign text for a message: not too long, and valid in UTF-8."""
    return clip_text(text.encode("utf-8", "backslashreplace").decode(), MAX_SHOWN)


# Tools run in parallel. No tool may write a file between the read and the write of another.
WRITE_LOCK = Lock()

_READ = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


class PlannedChange(Struct, frozen=True):
    """The new content of a file, None to delete it. A new file gets the permissions of `like`."""

    spot: FileLocation
    data: bytes | None
    like: os.stat_result | None = None


def apply_changes(root: str, changes: Sequence[PlannedChange]) -> None:
    """Make all changes. If one fails, undo the others and raise ToolError."""
    # Deletions come last: a moved file exists twice for a moment and is never missing.
    ordered = sorted(changes, key=lambda change: change.data is None)
    work = _FileTransaction(root, keep=len(ordered) > 1)
    with work.opened:
        try:
            steps = [work.prepare(change) for change in ordered]
            for step in steps:
                work.take(step)
        except BaseException as problem:
            if lost := work.put_back():
                raise ToolError(f"{problem}; not restored: {', '.join(lost)}") from None
            raise
        for step in steps:
            if step.kept:
                try_remove(step.folder, step.kept)


class _PreparedChange(Struct, frozen=True):
    """A change in its open folder: `fresh` will replace `name`, and `kept` links the old file."""

    change: PlannedChange
    folder: int
    name: str
    fresh: str
    kept: str


class _FileTransaction:
    """The folders that were opened, and the steps that undo what was done."""

    def __init__(self, root: str, *, keep: bool) -> None:
        self.root = root
        self.keep = keep
        self.opened = ExitStack()
        self._undo: list[tuple[str, Callable[[], None]]] = []

    def prepare(self, change: PlannedChange) -> _PreparedChange:
        spot, data = change.spot, change.data
        with tool_errors("write", spot.asked):
            if data is not None and len(data) > MAX_EDITED_BYTES:
                raise ValueError(f"it would be larger than {MAX_EDITED_BYTES:,} bytes")
            with open_safe_path(self.root, spot.path, new=True) as place:
                if place.path != spot.path or not is_same(state_of(place), spot.state):
                    raise ValueError(FILE_CHANGED)
                folder = self._folder(place, spot)
            fresh = "" if data is None else self._write_new(folder, place.name, change, data)
            kept = self._link_old(folder, place.name, spot) if self.keep and spot.state else ""
            return _PreparedChange(change, folder, place.name, fresh, kept)

    def take(self, step: _PreparedChange) -> None:
        spot = step.change.spot
        with tool_errors("write", spot.asked):
            state = None
            with suppress(FileNotFoundError):
                state = os.stat(as_bytes(step.name), dir_fd=step.folder, follow_symlinks=False)
            if not is_same(state, spot.state):
                raise ValueError(FILE_CHANGED)
            if step.fresh:
                rename(step.folder, step.fresh, step.name)
            else:
                os.unlink(as_bytes(step.name), dir_fd=step.folder)
            if step.kept:
                self._add_undo(spot, partial(rename, step.folder, step.kept, step.name))
            elif spot.state is None:
                self._add_undo(spot, partial(remove, step.folder, step.name))
            os.fsync(step.folder)

    def put_back(self) -> list[str]:
        """Undo everything. Return the names of the files for which that failed."""
        lost = []
        for path, undo in reversed(self._undo):
            try:
                undo()
            except OSError:
                lost.append(f"`{show_text(path)}`")
        return lost

    def _folder(self, place: SafePath, spot: FileLocation) -> int:
        # Opened for reading: `place.folder` is opened with O_PATH, and fsync fails on that.
        folder = self._open(b".", _READ, place.folder)
        for part in map(as_bytes, place.missing):
            with suppress(FileExistsError):
                os.mkdir(part, dir_fd=folder)
                self._add_undo(spot, partial(os.rmdir, part, dir_fd=folder))
            folder = self._open(part, _READ, folder)
        return folder

    def _open(self, name: bytes, flags: int, folder: int) -> int:
        descriptor = os.open(name, flags, dir_fd=folder)
        self.opened.callback(os.close, descriptor)
        return descriptor

    def _write_new(self, folder: int, name: str, change: PlannedChange, data: bytes) -> str:
        like = change.spot.state or change.like
        fresh = write_temporary(folder, name, data, mode=0o666, like=like)
        self._add_undo(change.spot, partial(remove, folder, fresh))
        return fresh

    def _link_old(self, folder: int, name: str, spot: FileLocation) -> str:
        _refuse_sticky(folder, spot)
        kept = temporary_name(name)
        os.link(
            as_bytes(name), as_bytes(kept),
            src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False,
        )  # fmt: skip
        self._add_undo(spot, partial(remove, folder, kept))
        return kept

    def _add_undo(self, spot: FileLocation, undo: Callable[[], None]) -> None:
        self._undo.append((spot.asked, undo))


def _refuse_sticky(folder: int, spot: FileLocation) -> None:
    """Raise PermissionError if the folder is sticky and would not let us remove a second link."""
    state = os.fstat(folder)
    owners = {0, state.st_uid, spot.state.st_uid if spot.state else 0}
    if state.st_mode & S_ISVTX and os.geteuid() not in owners:
        raise PermissionError


# Comparing is slow, and this is only a hint.
MAX_COMPARED_LINES = 2_000
MAX_COMPARED_CHARS = 120


def nearest_line(lines: Sequence[str], wanted: str, begin: int = 0) -> str:
    """Return the end of a message that names the nearest line from `begin` on, empty if none is."""
    key = _key(wanted)
    found: dict[str, int] = {}
    for number, line in enumerate(islice(lines, begin, begin + MAX_COMPARED_LINES), begin + 1):
        found.setdefault(_key(line), number)
    near = get_close_matches(key, [line for line in found if line], n=1) if key else []
    if not near:
        return ""
    number = found[near[0]]
    return f"; the nearest is line {number}: `{show_text(lines[number - 1].strip())}`"


def _key(line: str) -> str:
    return line.strip()[:MAX_COMPARED_CHARS]
