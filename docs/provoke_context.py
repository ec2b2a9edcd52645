"""Examples of the context language → what it says about a document, or about a call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.languages.context.blocks import DocumentError
from bylaw.languages.context.commands import CallError, bind_arguments, read_call
from bylaw.languages.context.reader import read_document
from bylaw.model.codes.context import INVALID_COMMAND
from bylaw.model.errors import GuardError
from bylaw.model.source import SourceFile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.model.codes import Example
    from bylaw.model.diagnostic import Diagnostic

# A command with one argument of an enum.
CONTRACT = """[[MODULE]]
name: m
description: d
[[ENUM]]
name: WorkMode
values: [design, test]
[[/ENUM]]
[[COMMAND]]
name: setmode
args: {kind: positional, positional: [{name: value, type: WorkMode}]}
[[/COMMAND]]
[[/MODULE]]
"""


def document(example: Example) -> Sequence[Diagnostic]:
    """What is wrong with a document."""
    try:
        read_document([SourceFile("contract.md", example.text)])
    except DocumentError as wrong:
        return [problem.diagnostic() for problem in wrong.problems]
    return []


def call(example: Example) -> Sequence[GuardError]:
    """What is wrong with a call of `setmode`."""
    command = read_document([SourceFile("contract.md", CONTRACT)]).commands.by_qualified[
        "m.setmode"
    ]
    try:
        called = read_call(example.text)
        assert called is not None
        bind_arguments(called, command.what)
    except CallError as wrong:
        return [GuardError(INVALID_COMMAND.name, str(wrong))]
    return []
