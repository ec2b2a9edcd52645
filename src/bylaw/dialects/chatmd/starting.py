"""A book and its files → everything that it can start, for the person who must trust it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.dialects.base import Start, Startable, uid_of
from bylaw.dialects.chatmd.actions import Calls, ComputesCall, RunsAgent
from bylaw.dialects.chatmd.declarations import AgentTool, CommandTool, McpTools
from bylaw.dialects.chatmd.procedures import NAME
from bylaw.dialects.chatmd.reading import read_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bylaw.dialects.base import RuleFile
    from bylaw.dialects.chatmd.declarations import Tool
    from bylaw.model.procedure import Book
    from bylaw.model.rule import StepMaker


def starts(book: Book, files: Sequence[RuleFile]) -> list[Start]:
    """What rules call and run, then what the files declare."""
    called = [
        Start(*what, rule.uid)
        for group in book.groups
        for rule in group.rules
        for maker in rule.plan.steps
        for what in _started(maker)
    ]
    declared = [
        Start(*what, uid_of(NAME, file.path, f"tool:{what[1]}"))
        for file in files
        for tool in read_file(file).declared.tools
        for what in _declared(tool)
    ]
    return [*called, *declared]


def _started(maker: StepMaker) -> Iterator[tuple[Startable, str]]:
    match maker:
        case Calls() | ComputesCall():
            yield Startable.TOOL, maker.tool
        case RunsAgent():
            yield Startable.AGENT, maker.written.src


def _declared(tool: Tool) -> Iterator[tuple[Startable, str]]:
    match tool:
        case CommandTool():
            yield Startable.PROGRAM, tool.command
        case AgentTool():
            yield Startable.AGENT, tool.path
        case McpTools():
            yield Startable.SERVER, tool.address
