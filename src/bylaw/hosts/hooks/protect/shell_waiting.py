"""Find the program in a shell text that would wait for typed input.

A client may type into a running program without a hook event, so no rule sees commands that a shell
or an interpreter gets this way. So each of them needs something to do: a script, a text, or
redirected input. This check can be bypassed: an unknown program may also accept commands.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from bylaw.hosts.hooks.protect import shell_programs as programs
from bylaw.hosts.hooks.protect.shell_arguments import run_by_shell
from bylaw.hosts.hooks.protect.shell_files import base_name
from bylaw.hosts.hooks.protect.shell_prompts import asked_by
from bylaw.hosts.hooks.protect.shell_state import ASSIGNMENT, ShellState
from bylaw.hosts.hooks.protect.shell_targets import MAX_DEPTH, MAX_TEXT
from bylaw.hosts.hooks.protect.shell_text import read_shell
from bylaw.hosts.hooks.protect.shell_word import PieceKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.hosts.hooks.protect.shell_state import ShellStart
    from bylaw.hosts.hooks.protect.shell_text import Command

_SHELLS = programs.SHELLS - {"source", ".", "at", "batch", "crontab"}
_EDITORS = frozenset({"ed", "ex", "vi", "vim", "nvim", "emacs"})
_PROMPTS = frozenset(
    {
        *("ipython", "ipython3", "bpython", "ptpython", "irb", "pry", "ghci"),
        *("csh", "tcsh", "yash", "nu", "xonsh", "elvish"),
    }
)
# They pass on typed input if they are given no file.
_PASSES_ON = frozenset({"cat", "tee"})
_STDIN = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "/dev/tty"})
# With this option, shells read commands from standard input even if they have other words.
_READS_ON = re.compile(r"-[a-zA-Z]*s[a-zA-Z]*")
# Options of interpreters and editors: something to do, and to wait for typed input after that.
_DOES = re.compile(
    r"-[a-zA-Z]*[eEp].*|-[rF].*|--(?:eval|print|check|run|test|file)(?:=.*)?", re.DOTALL
)
_PYTHON_DOES = re.compile(r"-[bBdEiIOPqsSuvx]*[cm].*", re.DOTALL)
_EDITOR_DOES = re.compile(r"-[a-zA-Z]*[cSs].*|--(?:batch|eval|cmd)(?:=.*)?|\+.*", re.DOTALL)
_GOES_ON = re.compile(r"-[bBdEIOPqsSuvx]*i[bBdEIOPqsSuvx]*|--interactive")
_TELLS = re.compile(r"-(?:V+|v|h|\?)|--(?:version|help)")
_VALUED = re.compile(r"[-+](?:[a-zA-Z]*[oO]|[WX])|--(?:rcfile|init-file|require|import|loader)")
# Modules of Python, and subcommands of others, that prompt for commands.
_ASKING = frozenset({"code", "asyncio", "pdb", "repl"})
# Of programs that start others: those whose options may have their value in the next word, and
# those that start a shell if they get no command.
_WITH_VALUES = frozenset(
    {
        *("sudo", "doas", "env", "exec", "nice", "ionice", "timeout", "gtimeout", "stdbuf"),
        *("strace", "ltrace", "flock", "chroot", "unshare", "taskset", "systemd-run"),
    }
)
_START_SHELLS = frozenset({"script", "unshare", "chroot"})
_LOGIN = re.compile(r"-[a-zA-Z]*[is][a-zA-Z]*|--(?:login|shell)")


def waiting_program(text: str, start: ShellStart) -> str:
    """Return the first program that would wait, or an empty text."""
    return next(_waiting(text[:MAX_TEXT].strip(), ShellState(start), 0), "")


def _waiting(text: str, state: ShellState, depth: int) -> Iterator[str]:
    if depth > MAX_DEPTH:
        return
    typed = False  # whether the pipe carries typed input
    for command in read_shell(text).commands:
        for word in (*command.words, *command.here):
            for piece in word:
                if piece.kind is PieceKind.COMMAND:
                    yield from _waiting(piece.text, state, depth + 1)
        words = state.of_command(command)
        is_open = _is_open(command, state) and (typed or not command.piped)
        yield from _of_command(words, state, depth, is_open=is_open)
        typed = is_open and _passes_on(words)


def _is_open(command: Command, state: ShellState) -> bool:
    """Whether the input of a command is not redirected."""
    return not command.here and _STDIN.issuperset(state.all_of(command.reads))


def _passes_on(words: list[str]) -> bool:
    files = [one for one in words[1:] if not one.startswith("-") or one in _STDIN]
    program = base_name(words[0]) if words else ""
    return program == "tee" or (program in _PASSES_ON and _STDIN.issuperset(files))


def _of_command(words: list[str], state: ShellState, depth: int, *, is_open: bool) -> Iterator[str]:
    program = base_name(words[0]) if words else ""
    if program in programs.STARTS and depth > MAX_DEPTH:
        yield program  # nested too deep: the last program is unknown
    elif program in programs.STARTS:
        for started in _started(program, words[1:]):
            yield from _of_command(started, state, depth + 1, is_open=is_open)
        texts, _ = run_by_shell(words)
        if is_open and not texts and _starts_shell(program, words[1:]):
            yield program
    elif program == "eval":
        yield from _waiting(" ".join(words[1:]), state, depth + 1)
    elif program in _SHELLS:
        texts, _ = run_by_shell(words)
        for inner in texts:
            yield from _waiting(inner, state, depth + 1)
        if is_open and not texts and _is_bare_shell(program, words[1:]):
            yield program
    elif is_open:
        yield from _of_prompt(program, words[1:], state, depth)


def _of_prompt(program: str, words: list[str], state: ShellState, depth: int) -> Iterator[str]:
    """Yield the program that waits, if `program` prompts or starts a shell elsewhere."""
    asked = asked_by(program, words)
    if asked.waits or _is_bare(program, words):
        yield program
    if asked.starts:  # a single word may be a shell text
        text = asked.starts[0] if len(asked.starts) == 1 else shlex.join(asked.starts)
        yield from _waiting(text, state, depth + 1)


def _started(program: str, words: list[str]) -> Iterator[list[str]]:
    """Yield the commands that a program may start: its words after options and assignments."""
    if program == "command" and words[:1] in (["-v"], ["-V"]):
        return
    rest = list(words)
    while rest and (rest[0].startswith("-") or ASSIGNMENT.match(rest[0]) or rest[0][:1].isdigit()):
        rest.pop(0)
    yield rest
    # `sudo -u NAME bash`, `flock FILE bash`
    if program in _WITH_VALUES and rest and rest[0] not in programs.READS:
        yield rest[1:]


def _starts_shell(program: str, words: list[str]) -> bool:
    files = [one for one in words if not one.startswith("-")]
    if program in {"sudo", "doas"}:
        return not files and any(_LOGIN.fullmatch(one) for one in words)
    most = 0 if program == "unshare" else 1  # `script FILE`, `chroot FOLDER`
    return program in _START_SHELLS and len(files) <= most


def _is_bare_shell(program: str, words: list[str]) -> bool:
    first = _operands(words)[:1]
    own = words[: words.index(first[0])] if first else words  # what follows is for a script
    if any(_TELLS.fullmatch(one) for one in own):
        return False
    reads_on = any(_READS_ON.fullmatch(one) for one in own)
    return program == "su" or reads_on or _STDIN.issuperset(first)


def _is_bare(program: str, words: list[str]) -> bool:
    """Whether an interpreter, editor or prompt has nothing to do but to wait for input."""
    if any(_TELLS.fullmatch(one) for one in words[:1]):
        return False
    operands = _operands(words)
    if program in _EDITORS:
        return not any(_EDITOR_DOES.fullmatch(one) for one in words)
    if program not in _PROMPTS and not programs.RUNS_CODE.fullmatch(program):
        return False
    doing = _PYTHON_DOES if programs.PYTHON.fullmatch(program) else _DOES
    does = any(doing.fullmatch(one) for one in words)
    asks = operands[:1] and operands[0] in _ASKING
    goes_on = any(_GOES_ON.fullmatch(one) for one in words)
    return bool(asks) or goes_on or (not does and _STDIN.issuperset(operands[:1]))


def _operands(words: list[str]) -> list[str]:
    """Return the words that are neither options nor their values."""
    before = ["", *words]
    return [
        one
        for last, one in zip(before, words, strict=False)
        if (not one.startswith(("-", "+")) or one in _STDIN) and not _VALUED.fullmatch(last)
    ]
