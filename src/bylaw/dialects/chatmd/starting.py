"""A book and its files → everything that it can start. A person must trust it first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.dialects.base import Start, Startable
from bylaw.dialects.chatmd.actions import Calls, ComputesCall, RunsAgent
from bylaw.dialects.chatmd.declarations import AgentTool, CommandTool, McpTools
from bylaw.dialects.chatmd.names import NAME
from bylaw.dialects.chatmd.reading import read_file
from bylaw.model.uid import uid_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bylaw.dialects.base import RuleFile
    from bylaw.dialects.chatmd.declarations import Tool
    from bylaw.model.procedure import Book
    from bylaw.model.rule import StepMaker


def starts(book: Book, files: Sequence[RuleFile]) -> list[Start]:
    """List what rules call and run, then the tools that the files declare."""
    called = [
        started
        for group in book.groups
        for rule in group.rules
        for maker in rule.plan.steps
        for started in _by_action(maker, rule.uid)
    ]
    declared = [
        started
        for file in files
        for tool in read_file(file).declared.tools
        for started in _by_tool(tool, uid_of(NAME, file.path, "tool:"))
    ]
    return [*called, *declared]


def _by_action(maker: StepMaker, uid: str) -> Iterator[Start]:
    match maker:
        case Calls() | ComputesCall():
            yield Start(Startable.TOOL, maker.tool, uid)
        case RunsAgent():
            yield Start(Startable.AGENT, maker.written.src, uid)


def _by_tool(tool: Tool, uid: str) -> Iterator[Start]:
    match tool:
        case CommandTool():
            yield Start(Startable.PROGRAM, tool.command, uid + tool.name)
        case AgentTool():
            yield Start(Startable.AGENT, tool.path, uid + tool.name)
        case McpTools():
            yield Start(Startable.SERVER, tool.address, uid + tool.address)
