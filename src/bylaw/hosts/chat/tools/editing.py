"""The tools that change one file: text put at its end, text in the place of other text."""

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
    """A tool that changes files; no two of them do so at once."""

    also: tuple[str, ...] = ("file.write",)

    def __init__(self, files: Files, name: str, description: str, arguments: type[A]) -> None:
        super().__init__(name, description, arguments)
        self.files = files

    def act(self, args: A) -> str:
        """What was changed."""
        with ONE_AT_A_TIME:
            return self.change(args)

    @abstractmethod
    def change(self, args: A) -> str:
        """Change files and say so."""

    def write(self, spot: Spot, text: Text) -> None:
        """Put a text into a file."""
        carry_out(self.files.root, [Change(spot, text.encode())])


class AppendArguments(Arguments, frozen=True, kw_only=True):
    """What to append, and to what."""

    path: FilePath
    content: Annotated[str, Meta(description="The text to append.")]


class AppendToFile(WritingTool[AppendArguments]):
    """Puts text at the end of a file, on a line of its own."""

    def __init__(self, files: Files) -> None:
        description = (
            "Append text to a file, beginning on a line of its own. A file that is not there is "
            "made, with its folders."
        )
        super().__init__(files, "append_to_file", description, AppendArguments)

    def change(self, args: AppendArguments) -> str:
        """Append."""
        spot = self.files.spot(args.path)
        text = self.files.text(spot) if spot.state else Text()
        before = text.content
        begin = f"{before}\n" if before and not before.endswith("\n") else before
        self.write(spot, text.holding(begin + text.fitting(args.content)))
        return f"appended {len(args.content):,} characters to `{shown(args.path)}`"


class ReplaceArguments(Arguments, frozen=True, kw_only=True):
    """What to replace, and where."""

    path: FilePath
    find: Annotated[str, Meta(description="The text to find, exactly as it stands there.")]
    replace: Annotated[str, Meta(description="The text to put in its place.")]
    all: Annotated[
        bool, Meta(description="Replace it wherever it stands; without it, it must stand once.")
    ] = False


class FindAndReplace(WritingTool[ReplaceArguments]):
    """Puts text in the place of other text."""

    def __init__(self, files: Files) -> None:
        description = "Replace text in a file by other text."
        super().__init__(files, "find_and_replace", description, ReplaceArguments)

    def change(self, args: ReplaceArguments) -> str:
        """Replace."""
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
    """How often a text stands there; ToolError if that is not as often as it must."""
    if not find:
        raise ToolError("`find` is empty: say which text is to be replaced")
    count = content.count(find)
    if not count:
        near = nearest_line(content.split("\n"), find.strip().partition("\n")[0])
        raise ToolError(f"`find` does not stand in `{shown(args.path)}`{near}")
    if count > 1 and not args.all:
        first, second = _lines_of(content, find)
        raise ToolError(
            f"`find` stands {count:,} times in `{shown(args.path)}`, first in lines {first} and"
            f" {second}: add text around it, or set `all` to true"
        )
    return count


def _lines_of(content: str, find: str) -> tuple[int, int]:
    first = content.find(find)
    second = content.find(find, first + len(find))
    return content.count("\n", 0, first) + 1, content.count("\n", 0, second) + 1
