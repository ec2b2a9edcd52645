"""The text of a command → its arguments. A command has no placeholders.

The program must be on the whitelist, by its exact name (LD-095).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.expr.command_words import CommandFault, CommandTextError, split_words
from bylaw.model.codes import law as codes
from bylaw.model.errors import BylawError
from bylaw.model.source import Span
from bylaw.model.suggest import nearest
from bylaw.model.visible import brief

if TYPE_CHECKING:
    from bylaw.expr.command_words import CommandWords
    from bylaw.model.codes import Code

WHITELIST = ("npm", "pnpm", "yarn", "python", "pytest", "node")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_CODES = {
    CommandFault.SHELL: codes.LAW_SHELL_SYNTAX,
    CommandFault.QUOTES: codes.LAW_COMMAND_QUOTES,
}


class CommandError(BylawError):
    """Why a command cannot run, the place in its text, and what to do."""

    def __init__(self, code: Code, reason: str, span: Span, help_: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason
        self.span = span
        self.help = help_


class CommandLine(Struct, frozen=True):
    """The arguments, the program first. `unexpanded` are places that a shell would expand."""

    argv: tuple[str, ...]
    unexpanded: tuple[Span, ...]


def read_command(text: str) -> CommandLine:
    """Read a command; raise CommandError if it is not allowed."""
    _check_fields(text)
    try:
        split = split_words(text)
    except CommandTextError as wrong:
        help_ = wrong.help if text.strip() else _PROGRAMS
        raise CommandError(_CODES[wrong.fault], wrong.reason, wrong.span, help_) from wrong
    _check_program(split)
    return CommandLine(split.words, split.unexpanded)


def _check_fields(text: str) -> None:
    if (at := text.find("{{")) >= 0:
        end = text.find("}}", at)
        span = Span(at, end + len("}}") if end >= 0 else len(text))
        help_ = 'write the full command; only `cmd: "{{run}}"` alone runs commands of a message'
        raise CommandError(
            codes.LAW_INTERPOLATION, "a command cannot contain placeholders", span, help_
        )


_PROGRAMS = "use one of " + ", ".join(f"`{name}`" for name in WHITELIST)


def _check_program(split: CommandWords) -> None:
    name = split.words[0]
    if name in WHITELIST:
        return
    shown, help_ = brief(name), _PROGRAMS
    if _ASSIGNMENT.match(name):
        reason, help_ = f"`{shown}` is an assignment, not a program", "begin with the program"
    elif "/" in name:
        reason = f"`{shown}` is a path, but programs are allowed by name only"
    else:
        reason = f"program `{shown}` is not allowed"
        near = nearest(name, WHITELIST)
        help_ = f"did you mean `{near}`?" if near else _PROGRAMS
    raise CommandError(codes.LAW_COMMAND_NOT_ALLOWED, reason, split.program, help_)
