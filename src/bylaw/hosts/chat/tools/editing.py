"""The tools that change one file: append text, and replace text."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Annotated, TypeVar

from msgspec import Meta

from bylaw.hosts.chat.tools.arguments import Arguments, CheckedTool, FilePath
from bylaw.hosts.chat.tools.base import ToolError
from bylaw.hosts.chat.tools.changes import ONE_AT_A_TIME, Change, carry_out
from bylaw.hosts.chat.tools.files import MAX_EDITED_BYTES, shown
from bylaw.hosts.chat.tools.nearest import nearest_line
from bylaw.hosts.chat.tools.text_form import Text

if TYPE_CHECKING:
    from bylaw.hosts.chat.tools.files import Files, Spot

A = TypeVar("A", bound=Arguments)


class WritingTool(CheckedTool[A]):
    """A tool that changes files. Only one of them runs at a time."""

    also: tuple[str, ...] = ("file.write",)

    def __init__(self, files: Files, name: str, description: str, arguments: type[A]) -> None:
        super().__init__(name, description, arguments)
        self.files = files

    def act(self, args: A) -> str:
        """Change files and return a report, while no other tool changes files."""
        with ONE_AT_A_TIME:
            return self.change(args)

    @abstractmethod
    def change(self, args: A) -> str:
        """Change files and return a report."""

    def write(self, spot: Spot, text: Text) -> None:
        """Write a text to a file."""
        carry_out(self.files.root, [Change(spot, text.encode())])


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
        text = self.files.text(spot) if spot.state else Text()
        before = text.content
        begin = f"{before}\n" if before and not before.endswith("\n") else before
        self.write(spot, text.holding(begin + text.fitting(args.content)))
        return f"appended {len(args.content):,} characters to `{shown(args.path)}`"


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
        find, replace = text.fitting(args.find), text.fitting(args.replace)
        count = _occurrences(text.content, find, args)
        if len(text.content) + count * (len(replace) - len(find)) > MAX_EDITED_BYTES:
            raise ToolError(f"`{shown(args.path)}` would be larger than {MAX_EDITED_BYTES:,} bytes")
        self.write(spot, text.holding(text.content.replace(find, replace)))
        places = "1 place" if count == 1 else f"{count:,} places"
        return f"replaced the text at {places} of `{shown(args.path)}`"


def _occurrences(content: str, find: str, args: ReplaceArguments) -> int:
    """Return how many times a text occurs. Raises ToolError if it may not occur that many times."""
    if not find:
        raise ToolError("`find` is empty: give the text to replace")
    count = content.count(find)
    if not count:
        near = nearest_line(content.split("\n"), find.strip().partition("\n")[0])
        raise ToolError(f"`find` is not in `{shown(args.path)}`{near}")
    if count > 1 and not args.all:
        first, second = _lines_of(content, find)
        raise ToolError(
            f"`find` occurs {count:,} times in `{shown(args.path)}`, first in lines {first} and"
            f" {second}: add surrounding text, or set `all` to true"
        )
    return count


def _lines_of(content: str, find: str) -> tuple[int, int]:
    first = content.find(find)
    second = content.find(find, first + len(find))
    return content.count("\n", 0, first) + 1, content.count("\n", 0, second) + 1
