"""The tools that read files and folders, append text, and replace text."""

from __future__ import annotations

import os
import re
from abc import abstractmethod
from contextlib import contextmanager
from heapq import nsmallest
from typing import TYPE_CHECKING, Annotated, TypeVar

from msgspec import Meta, Struct

from bylaw.hosts.chat.tools.base import Arguments, CheckedTool, FilePath, ToolError
from bylaw.hosts.chat.tools.files import (
    MAX_EDITED_BYTES,
    WRITE_LOCK,
    FileText,
    PlannedChange,
    apply_changes,
    decode_utf8,
    nearest_line,
    show_text,
    tool_errors,
)
from bylaw.model.suggest import did_you_mean
from bylaw.store.files import open_regular, read_at_most
from bylaw.store.paths import as_bytes, is_inside, real_path
from bylaw.store.safe_paths import open_safe_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bylaw.hosts.chat.tools.files import FileLocation, Files
    from bylaw.runtime.trust import Trust

# With the note about the rest, this is still below the limit of a result.
MAX_READ_BYTES = 192 * 1024
MIN_READ_BYTES = 4  # the longest UTF-8 character
MAX_ENTRIES = 5_000

_CONTINUATION_BYTES = range(0x80, 0xC0)  # the continuation bytes of UTF-8
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class NamedFolder(Struct, frozen=True):
    """A folder by its absolute path, with the name that the model uses for it."""

    name: str
    folder: str
    description: str = ""


class ReadArguments(Arguments, frozen=True, kw_only=True):
    """What to read."""

    file: FilePath
    offset: Annotated[int, Meta(ge=0, description="The byte at which to start.")] = 0
    limit: Annotated[
        int,
        Meta(ge=MIN_READ_BYTES, description=f"Bytes to read, at most {MAX_READ_BYTES}."),
    ] = MAX_READ_BYTES


class ReadBelowArguments(ReadArguments, frozen=True, kw_only=True):
    """What to read, and in which folder."""

    file: Annotated[str, Meta(description="Path of the file, relative to `root`.")]
    root: Annotated[str, Meta(description="The folder. Required if there are several.")] = ""


class ReadFile(CheckedTool[ReadArguments]):
    """Reads a piece of a file. With `roots`, which are named folders, it reads only in them.

    Folders outside the root of the chat are read only if a person trusts the chat.
    """

    also: tuple[str, ...] = ("get_contents", "file.read")
    synonyms: tuple[tuple[str, str], ...] = (("path", "file"),)

    def __init__(
        self, files: Files, roots: Sequence[NamedFolder], trust: Callable[[], Trust]
    ) -> None:
        description = (
            "Read a text file, up to the last full line that fits. If there is more, a note says "
            "how much, and the offset at which to continue."
        )
        if roots:
            named = "; ".join(f"`{root.name}` {root.description}".strip() for root in roots)
            description += f" Values for `root`, the folder to read in: {named}."
        arguments = ReadBelowArguments if roots else ReadArguments
        super().__init__("read_file", description, arguments)
        self._files = files
        self._folders = {root.name: root.folder for root in roots}
        self._trust = trust

    def act(self, args: ReadArguments) -> str:
        """Return the text."""
        folder = self._folder(args)
        with tool_errors("read", args.file):
            data, size = _read_piece(
                folder, args.file, args.offset, min(args.limit, MAX_READ_BYTES)
            )
            text, end = _decode_piece(data, args.offset, more=args.offset + len(data) < size)
        left = size - end
        note = f"\n\n---\n[File truncated: {left} more bytes not shown; continue with offset {end}]"
        return text + note if left else text

    def _folder(self, args: ReadArguments) -> str:
        if not isinstance(args, ReadBelowArguments):
            return self._files.root
        only = next(iter(self._folders)) if len(self._folders) == 1 else ""
        name = args.root or only
        if name not in self._folders:
            what = f"unknown `root` `{show_text(name)}`" if name else "`root` is required"
            raise ToolError(f"{what}: {did_you_mean(name, self._folders)}")
        folder = self._folders[name]
        inside = is_inside(real_path(folder), real_path(self._files.root))
        if not inside and not self._trust().given:
            why = "it is outside the project root, and this chat is not trusted"
            raise ToolError(f"cannot read in `{show_text(name)}`: {why}; see `bylaw trust`")
        return folder


def _read_piece(root: str, path: str, offset: int, limit: int) -> tuple[bytes, int]:
    """Return a piece of a file, and the size of the file in bytes."""
    with (
        open_safe_path(root, path) as place,
        open_regular(place.name, links=False, folder=place.folder) as file,
    ):
        size = os.fstat(file).st_size
        if offset > size:
            raise ValueError(f"it has only {size:,} bytes")
        os.lseek(file, offset, os.SEEK_SET)
        data = read_at_most(file, limit)[:limit]
        # It may have grown, or shrunk, meanwhile.
        return data, max(size, offset + len(data)) if len(data) == limit else offset + len(data)


def _decode_piece(data: bytes, offset: int, *, more: bool) -> tuple[str, int]:
    """Return the text of a piece, and where it ends in the file."""
    begin = 0
    while offset and begin < min(MIN_READ_BYTES, len(data)) and data[begin] in _CONTINUATION_BYTES:
        begin += 1
    end = data.rfind(b"\n") + 1 if more else 0
    piece = data[begin : end if end > begin else len(data)]
    text = decode_utf8(piece, offset + begin, whole=not more)
    return text, offset + begin + len(text.encode())


class FolderArguments(Arguments, frozen=True, kw_only=True):
    """Which folder."""

    path: Annotated[str, Meta(description="Path of the folder, from the project root.")] = "."


class ReadFolder(CheckedTool[FolderArguments]):
    """Lists the names in a folder."""

    also: tuple[str, ...] = ("read_dir", "file.read")

    def __init__(self, files: Files) -> None:
        description = "List the names in a folder, one per line. Folders end with `/`."
        super().__init__("read_directory", description, FolderArguments)
        self._files = files

    def act(self, args: FolderArguments) -> str:
        """Return the names, in order."""
        with tool_errors("read", args.path), _open_entries(self._files.root, args.path) as entries:
            names, seen = _first_names(entries)
        more = f"\n… {seen - MAX_ENTRIES:,} more" if seen > MAX_ENTRIES else ""
        return "\n".join(names) + more


@contextmanager
def _open_entries(root: str, path: str) -> Iterator[Iterator[os.DirEntry[str]]]:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
    with open_safe_path(root, path) as place:
        folder = os.open(as_bytes(place.name), flags, dir_fd=place.folder)
        try:
            with os.scandir(folder) as entries:
                yield entries
        finally:
            os.close(folder)


def _first_names(entries: Iterator[os.DirEntry[str]]) -> tuple[list[str], int]:
    """Return the names that come first, and the number of all names."""
    seen = 0

    def counted() -> Iterator[str]:
        nonlocal seen
        for seen, entry in enumerate(entries, 1):  # noqa: B007 - the last number is used
            yield _entry_name(entry)

    return nsmallest(MAX_ENTRIES, counted()), seen


def _entry_name(entry: os.DirEntry[str]) -> str:
    # A name must stay on one line: invalid UTF-8 and control characters are escaped.
    text = os.fsencode(entry.name).decode("utf-8", "backslashreplace")
    name = _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
    return f"{name}/" if entry.is_dir(follow_symlinks=False) else name


A = TypeVar("A", bound=Arguments)


class WritingTool(CheckedTool[A]):
    """A tool that changes files. Only one of them runs at a time."""

    also: tuple[str, ...] = ("file.write",)

    def __init__(self, files: Files, name: str, description: str, arguments: type[A]) -> None:
        super().__init__(name, description, arguments)
        self.files = files

    def act(self, args: A) -> str:
        """Change files and return a report, while no other tool changes files."""
        with WRITE_LOCK:
            return self.change(args)

    @abstractmethod
    def change(self, args: A) -> str:
        """Change files and return a report."""

    def write(self, spot: FileLocation, text: FileText) -> None:
        """Write a text to a file."""
        apply_changes(self.files.root, [PlannedChange(spot, text.encode())])


class AppendArguments(Arguments, frozen=True, kw_only=True):
    """What to append, and to which file."""

    path: FilePath
    content: Annotated[str, Meta(description="The text to append.")]


class AppendToFile(WritingTool[AppendArguments]):
    """Appends text to a file, on a new line."""

    def __init__(self, files: Files) -> None:
        description = (
            "Append text to a file, starting on a new line. A file that does not exist is "
            "created, with its folders."
        )
        super().__init__(files, "append_to_file", description, AppendArguments)

    def change(self, args: AppendArguments) -> str:
        """Append the text."""
        spot = self.files.spot(args.path)
        text = self.files.text(spot) if spot.state else FileText()
        before = text.content
        begin = f"{before}\n" if before and not before.endswith("\n") else before
        self.write(spot, text.holding(begin + text.convert_line_breaks(args.content)))
        return f"appended {len(args.content):,} characters to `{show_text(args.path)}`"


class ReplaceArguments(Arguments, frozen=True, kw_only=True):
    """What to replace, and where."""

    path: FilePath
    find: Annotated[str, Meta(description="The text to find, exactly as in the file.")]
    replace: Annotated[str, Meta(description="The new text.")]
    all: Annotated[
        bool, Meta(description="Replace all occurrences. If false, `find` must occur exactly once.")
    ] = False


class FindAndReplace(WritingTool[ReplaceArguments]):
    """Replaces text by other text."""

    def __init__(self, files: Files) -> None:
        description = "Replace text in a file by other text."
        super().__init__(files, "find_and_replace", description, ReplaceArguments)

    def change(self, args: ReplaceArguments) -> str:
        """Replace the text."""
        spot = self.files.spot(args.path)
        text = self.files.text(spot)
        find, replace = text.convert_line_breaks(args.find), text.convert_line_breaks(args.replace)
        count = _count_occurrences(text.content, find, args)
        if len(text.content) + count * (len(replace) - len(find)) > MAX_EDITED_BYTES:
            raise ToolError(
                f"`{show_text(args.path)}` would be larger than {MAX_EDITED_BYTES:,} bytes"
            )
        self.write(spot, text.holding(text.content.replace(find, replace)))
        places = "1 place" if count == 1 else f"{count:,} places"
        return f"replaced the text at {places} of `{show_text(args.path)}`"


def _count_occurrences(content: str, find: str, args: ReplaceArguments) -> int:
    """Return how many times a text occurs. Raises ToolError if it may not occur that many times."""
    if not find:
        raise ToolError("`find` is empty: give the text to replace")
    count = content.count(find)
    if not count:
        near = nearest_line(content.split("\n"), find.strip().partition("\n")[0])
        raise ToolError(f"`find` is not in `{show_text(args.path)}`{near}")
    if count > 1 and not args.all:
        first, second = _lines_of(content, find)
        raise ToolError(
            f"`find` occurs {count:,} times in `{show_text(args.path)}`, first in lines {first} and"
            f" {second}: add surrounding text, or set `all` to true"
        )
    return count


def _lines_of(content: str, find: str) -> tuple[int, int]:
    first = content.find(find)
    second = content.find(find, first + len(find))
    return content.count("\n", 0, first) + 1, content.count("\n", 0, second) + 1
