"""Read the cases of a Markdown page, or report its errors.

A case is a heading `## Title [CM-024, CM-A21]` with the requirements that it checks. The info
string of a block says what it is: a word of `_BLOCKS`, or any word and a path for a file that the
case needs. `edit`, `after` and the other words of `_BETWEEN`, with a path, are steps between the
commands. Blocks before the first case belong to every case of the page.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from bylaw.model.codes.suites import (
    BAD_BLOCK_PATH,
    BAD_REQUIREMENT_LIST,
    DUPLICATE_CASE,
    EMPTY_CASE,
    TOO_MANY_SHARED,
    UNCLOSED_BLOCK,
    UNKNOWN_BLOCK,
    UNPAIRED_EVENTS,
)
from bylaw.model.diagnostic import Diagnostic, Label, error
from bylaw.model.errors import LoadError
from bylaw.model.source import Span
from bylaw.model.suggest import did_you_mean
from bylaw.tools.suites.blocks import Blocks
from bylaw.tools.suites.commands import MAX_FINDINGS, read_run
from bylaw.tools.suites.expectations import read_decisions, read_diagnostics, read_state
from bylaw.tools.suites.markdown import Fence, Heading, scan
from bylaw.tools.suites.page import After, Case, Edited, File, Holds, Page, Removed, Tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.model.codes import Code
    from bylaw.model.source import SourceFile

CASE_LEVEL = 2
# Every case repeats these, so the cost is their number times the number of cases.
MAX_SHARED = 20

# Possessive and from the bracket on, so that long titles cause no backtracking.
_IDS = re.compile(r"\[([^\[\]]*+)\]$")
_REQUIREMENT = re.compile(r"[A-Z]{2}-A?[0-9]+")


def read_page(source: SourceFile, *, prose: bool = False) -> Page:
    """Read every case of a page. Raise LoadError with all errors if it is malformed.

    In a page of `prose`, a heading without blocks is not a case.
    """
    reader = _Reader(source, prose=prose)
    for item in scan(source):
        reader.take(item)
        if len(reader.findings) == MAX_FINDINGS:
            break
    reader.end_case()
    if reader.findings:
        raise LoadError(reader.findings)
    return Page(source, tuple(reader.cases))


class _Reader:
    """Finished cases, and the blocks of the case that is being read."""

    def __init__(self, source: SourceFile, *, prose: bool) -> None:
        self.source = source
        self.prose = prose
        self.cases: list[Case] = []
        self.findings: list[Diagnostic] = []
        self.blocks = Blocks()
        self._heading: Heading | None = None
        self._seen: dict[str, Span] = {}
        self._shared = Blocks()

    def take(self, item: Heading | Fence) -> None:
        if isinstance(item, Fence):
            self._take_block(item)
            self._check_shared(item.span)
        elif item.level <= CASE_LEVEL:
            self.end_case()
            self._heading = item if item.level == CASE_LEVEL else None

    def end_case(self) -> None:
        if self._heading is None:
            # Blocks outside of a case belong to all cases after them.
            self._shared = self._shared.and_then(self.blocks)
        elif not (self.prose and self.blocks.are_empty):
            self._add_case(self._heading)
        self.blocks = Blocks()

    def _check_shared(self, span: Span) -> None:
        if self._heading is None and self._shared.size + self.blocks.size > MAX_SHARED:
            headline = f"more than {MAX_SHARED} blocks and commands before the first case"
            help_ = "move blocks that only some cases need into those cases"
            self.refuse(TOO_MANY_SHARED, headline, span, help=help_)
            raise LoadError(self.findings)

    def refuse(
        self,
        code: Code,
        headline: str,
        span: Span,
        *,
        labels: tuple[Label, ...] = (),
        help: str = "",  # noqa: A002 - the word in the output
    ) -> None:
        if len(self.findings) < MAX_FINDINGS:
            found = error(code, headline, self.source, span, labels=labels, help=help)
            self.findings.append(found)

    def _add_case(self, heading: Heading) -> None:
        found = _IDS.search(heading.title)
        title = heading.title[: found.start()].rstrip(" ") if found else heading.title
        blocks = self._shared.and_then(self.blocks)
        self._check_title(title, heading.span)
        self._check_blocks(blocks, heading.span)
        ids = self._requirements(found, heading.span.start)
        self.cases.append(blocks.case(title, ids, heading.span))

    def _check_title(self, title: str, span: Span) -> None:
        first = self._seen.setdefault(title, span)
        if first is not span:
            headline = f"duplicate case title `{title}`"
            labels = (Label(first, "first used here"),)
            help_ = "rename one of them"
            self.refuse(DUPLICATE_CASE, headline, span, labels=labels, help=help_)

    def _check_blocks(self, blocks: Blocks, span: Span) -> None:
        if blocks.check_events and not blocks.events:
            headline = "this case expects decisions, but has no events"
            help_ = "add an `events` block"
            self.refuse(UNPAIRED_EVENTS, headline, span, help=help_)
        elif self.blocks.events and not blocks.check_events:
            headline = "this case has events, but no expectation for them"
            help_ = "add an `expect` or a `state` block"
            self.refuse(UNPAIRED_EVENTS, headline, span, help=help_)
        elif self.blocks.are_empty or not blocks.check_anything:
            help_ = "add an expectation, or use a heading of the third level (`###`)"
            self.refuse(EMPTY_CASE, "this case checks nothing", span, help=help_)

    def _requirements(self, found: re.Match[str] | None, title_start: int) -> tuple[str, ...]:
        if found is None:
            return ()
        at = title_start + found.start(1)
        ids = []
        for part in found[1].split(","):
            ids.append(part.strip())
            if not _REQUIREMENT.fullmatch(ids[-1]):
                headline, span = f"`{ids[-1]}` is not a requirement id", Span(at, at + len(part))
                help_ = "write ids such as `CM-024` or `CM-A21`, separated by commas"
                self.refuse(BAD_REQUIREMENT_LIST, headline, span, help=help_)
            at += len(part) + 1
        return tuple(ids)

    def _take_block(self, block: Fence) -> None:
        word, _, path = block.info.partition(" ")
        if not block.closed:
            help_ = "close it with as many backticks as it begins with"
            self.refuse(UNCLOSED_BLOCK, "unclosed block", block.span, help=help_)
        elif path:
            self._add_file(word, path.strip(), block)
        elif word in _BLOCKS:
            _BLOCKS[word](self, block)
        elif word:
            self.refuse(
                UNKNOWN_BLOCK,
                f"unknown block `{word}`",
                block.span,
                help=did_you_mean(word, _BLOCKS) + "; a file needs a path after its first word",
            )

    def _add_file(self, word: str, path: str, block: Fence) -> None:
        pure = PurePosixPath(path)
        if pure.is_absolute() or ".." in pure.parts or "\0" in path or not pure.name:
            headline = f"`{path}` is not a path inside the folder of the case"
            help_ = "use a relative path without `..`"
            self.refuse(BAD_BLOCK_PATH, headline, block.span, help=help_)
            return
        file = File(str(pure), self.source.slice(block.body), word, block.span)
        if word in _BETWEEN:
            _BETWEEN[word](self, file, block)
        else:
            self.blocks.files.append(file)

    def add_after(self, file: File, block: Fence) -> None:
        self.blocks.steps.append(After(file.path, file.text, block.span, block.body))

    def add_edit(self, file: File, _block: Fence) -> None:
        self.blocks.steps.append(Edited(file))

    def add_removal(self, file: File, _block: Fence) -> None:
        self.blocks.steps.append(Removed(file.path, file.place))

    def add_tree(self, file: File, block: Fence) -> None:
        names = tuple(file.text.split("\n")[:-1])
        self.blocks.steps.append(Tree(file.path, names, block.span, block.body))

    def add_holds(self, file: File, block: Fence) -> None:
        expected, findings = read_state(self.source, block)
        self.blocks.steps.append(Holds(file.path, expected, block.span))
        self.findings += findings[: MAX_FINDINGS - len(self.findings)]

    def add_run(self, block: Fence) -> None:
        steps, findings = read_run(self.source, block.body)
        self.blocks.steps += steps
        self.findings += findings[: MAX_FINDINGS - len(self.findings)]

    def add_events(self, block: Fence) -> None:
        self.blocks.events.append(self.source.slice(block.body))

    def add_decisions(self, block: Fence) -> None:
        lines, findings = read_decisions(self.source, block)
        self.blocks.decisions.append(lines)
        self.findings += findings[: MAX_FINDINGS - len(self.findings)]

    def add_state(self, block: Fence) -> None:
        state, findings = read_state(self.source, block)
        self.blocks.states.append(state)
        self.findings += findings[: MAX_FINDINGS - len(self.findings)]

    def add_diagnostics(self, block: Fence) -> None:
        lines, findings = read_diagnostics(self.source, block)
        self.blocks.diagnostics.append(lines)
        self.findings += findings[: MAX_FINDINGS - len(self.findings)]


# First words of file blocks that are steps between commands, not files of the start.
_BETWEEN: dict[str, Callable[[_Reader, File, Fence], None]] = {
    "after": _Reader.add_after,
    "edit": _Reader.add_edit,
    "holds": _Reader.add_holds,
    "remove": _Reader.add_removal,
    "tree": _Reader.add_tree,
}

# Blocks that are not files. A new kind needs a line here and a method above.
_BLOCKS: dict[str, Callable[[_Reader, Fence], None]] = {
    "events": _Reader.add_events,
    "expect": _Reader.add_decisions,
    "state": _Reader.add_state,
    "diagnostics": _Reader.add_diagnostics,
    "run": _Reader.add_run,
}
