"""Find the program in a shell text that would wait for typed input.

A client may type into a running program without a hook event, so no rule sees commands that a shell
or an interpreter gets this way. So each of them needs something to do: a script, a text, or
redirected input. Debuggers, clients of databases and multiplexers can also run shell commands from
their prompts, and containers and other machines may have access to the files of this one. This
check can be bypassed: an unknown program may also accept commands.
"""

from __future__ import annotations

import re
import shlex
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from bylaw.hosts.hooks.protect import shell_programs as programs
from bylaw.hosts.hooks.protect.shell_parser import PieceKind, read_shell
from bylaw.hosts.hooks.protect.shell_programs import base_name, shell_texts
from bylaw.hosts.hooks.protect.shell_state import ASSIGNMENT, ShellState
from bylaw.hosts.hooks.protect.shell_targets import MAX_DEPTH, MAX_TEXT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bylaw.hosts.hooks.protect.shell_parser import ShellCommand
    from bylaw.hosts.hooks.protect.shell_state import ShellStart


class PromptResult(NamedTuple):
    """What a program does with typed input: it `waits` for it, or passes it to what it `starts`."""

    waits: bool
    starts: tuple[str, ...] = ()


_NOTHING = PromptResult(waits=False)
_VERSION_WORDS = frozenset({"V", "-V", "--version", "--help", "-version", "-help"})
_QUIT_WORDS = frozenset({"q", "quit", "exit"})
_SQLITE_VALUED = frozenset(
    {"-cmd", "-init", "-separator", "-nullvalue", "-newline", "-mmap", "-vfs", "-maxsize"}
)
_SSH_VALUED = "BbcDEeFIiJLlmOoPpQRSWw"
_TMUX_ATTACHES = frozenset({"", "new", "new-session", "attach", "attach-session", "a", "at"})
_CONTAINERS = frozenset({"docker", "podman", "nerdctl", "docker-compose", "podman-compose"})
_CONTAINER_VALUED = "acehlmpuvwHfn"
# Long options of container programs that have no value; all others have one.
_CONTAINER_FLAGS = frozenset(
    {
        *("--rm", "--init", "--privileged", "--detach", "--interactive", "--tty", "--read-only"),
        *(
            "--no-healthcheck",
            "--publish-all",
            "--quiet",
            "--no-deps",
            "--build",
            "--service-ports",
        ),
        *("--no-TTY", "--remove-orphans", "--debug", "--tls", "--stdin"),
    }
)
_KEEPS_INPUT = frozenset({"i", "--interactive", "--stdin"})
_DETACHED = frozenset({"d", "--detach"})


class _Options(NamedTuple):
    """The options of a program by letters and long names, and its other words."""

    flags: frozenset[str]
    rest: tuple[str, ...]


def prompt_result(program: str, words: list[str]) -> PromptResult:
    """Return what a program with these words does with typed input, if it is in the tables."""
    if program in _CONTAINERS:
        return _container(program, words)
    ask = _PROMPT_CHECKS.get(program)
    return ask(words) if ask and not _VERSION_WORDS.intersection(words[:1]) else _NOTHING


def _parse_options(
    words: list[str], valued: str, long_flags: frozenset[str] | None = None
) -> _Options:
    """Read options up to the first other word; the rest starts there.

    Without `long_flags`, no long option takes the next word as its value.
    """
    flags: set[str] = set()
    todo = list(words)
    while todo and todo[0].startswith("-") and todo[0] != "-":
        word = todo.pop(0)
        if word == "--":
            break
        name, has_value, _ = word.partition("=")
        if word.startswith("--"):
            flags.add(name)
            if long_flags is not None and not has_value and name not in long_flags:
                del todo[:1]
            continue
        for at, letter in enumerate(word[1:], start=2):
            flags.add(letter)
            if letter in valued:
                del todo[: at == len(word)]
                break
    return _Options(frozenset(flags), tuple(todo))


def _all_flags(words: list[str], valued: str) -> frozenset[str]:
    """Return the options of a program that accepts them anywhere."""
    flags, rest = _parse_options(words, valued)
    while rest:
        more, rest = _parse_options(list(rest[1:]), valued)
        flags |= more
    return flags


def _database(doing: str, valued: str, *long: str) -> Callable[[list[str]], PromptResult]:
    does = frozenset({*doing, *long})
    return lambda words: PromptResult(not does & _all_flags(words, valued))


def _debugger(words: list[str]) -> PromptResult:
    batch = {"-batch", "--batch", "-b", "-P"}.intersection(words)
    return PromptResult(
        not batch and not _QUIT_WORDS.intersection(one.rpartition("=")[2] for one in words)
    )


def _sqlite(words: list[str]) -> PromptResult:
    """`sqlite3 FILE STATEMENT` runs the statement; without one, it prompts."""
    plain = [one.replace("--", "-", 1) for one in words]
    named = [two for one, two in pairwise(["", *plain])
             if not two.startswith("-") and one not in _SQLITE_VALUED]  # fmt: skip
    return PromptResult(len(named) <= 1)


def _tmux(words: list[str]) -> PromptResult:
    _, rest = _parse_options(words, "LSfc")
    if rest[:1] and rest[0] not in _TMUX_ATTACHES:
        return _NOTHING
    detached = rest[:1] and "d" in _parse_options(list(rest[1:]), "stcnxyeFf").flags
    return PromptResult(not detached or rest[0].startswith("a"))  # `attach -d` detaches others


def _screen(words: list[str]) -> PromptResult:
    lists = {"-ls", "-list", "-wipe", "-v", "-X"}.intersection(words)
    return PromptResult(not lists and not {"d", "m"} <= _parse_options(words, "SchpstTe").flags)


def _ssh(words: list[str]) -> PromptResult:
    flags, rest = _parse_options(words, _SSH_VALUED)
    more, command = _parse_options(list(rest[1:]), _SSH_VALUED)
    does = (flags | more) & frozenset("NVQGOWs") or rest[:1] == () or rest[0].startswith("git@")
    return _NOTHING if does else PromptResult(not command, (" ".join(command),) if command else ())


def _sftp(words: list[str]) -> PromptResult:
    return PromptResult("b" not in _parse_options(words, "BbcDFiJloPRSsX").flags)


def _container(program: str, words: list[str]) -> PromptResult:
    """`docker run -it IMAGE COMMAND`; `compose` passes on input without an option."""
    rest = _parse_options(words, _CONTAINER_VALUED, _CONTAINER_FLAGS).rest
    composes = program.endswith("compose") or rest[:1] == ("compose",)
    if rest[:1] in {("compose",), ("container",)}:
        rest = _parse_options(list(rest[1:]), _CONTAINER_VALUED, _CONTAINER_FLAGS).rest
    verb = rest[0] if rest else ""
    flags, behind = _parse_options(list(rest[1:]), _CONTAINER_VALUED, _CONTAINER_FLAGS)
    if verb == "attach":
        return PromptResult(waits=True)
    if verb not in {"run", "exec"} or flags & _DETACHED or not (composes or flags & _KEEPS_INPUT):
        return _NOTHING
    return PromptResult(len(behind) == 1 and not composes, behind[1:])


def _kubectl(words: list[str]) -> PromptResult:
    """`kubectl exec -it POD -- COMMAND`; its options may be anywhere before `--`."""
    own = words[: words.index("--")] if "--" in words else words
    verb = next((one for one in own if one in {"exec", "run", "attach", "debug"}), "")
    if not verb or not _KEEPS_INPUT & _all_flags(own, "ncfls"):
        return _NOTHING
    behind = _parse_options(own[own.index(verb) + 1 :], "ncfls").rest
    command = tuple(words[len(own) + 1 :]) or (behind[1:] if verb == "exec" else ())
    return PromptResult(not command, command)


def _shell_of(verb: str, doing: str) -> Callable[[list[str]], PromptResult]:
    """Such as `adb shell`: a shell that waits for input, unless it gets a command."""

    def ask(words: list[str]) -> PromptResult:
        behind = words[words.index(verb) + 1 :] if verb in words else []
        does = any(one.startswith(doing) if doing else not one.startswith("-") for one in behind)
        return PromptResult(verb in words and not does)

    return ask


def _always(_: list[str]) -> PromptResult:
    return PromptResult(waits=True)


_MYSQL = _database("e", "uhPDSepE", "--execute", "--version", "--help")
_PROMPT_CHECKS: dict[str, Callable[[list[str]], PromptResult]] = {
    **dict.fromkeys(("nano", "pico", "micro", "hx", "kak", "joe", "mg"), _always),
    **dict.fromkeys(("gdb", "lldb"), _debugger),
    **dict.fromkeys(("ssh", "mosh", "autossh"), _ssh),
    **dict.fromkeys(("kubectl", "oc"), _kubectl),
    **dict.fromkeys(("mysql", "mariadb"), _MYSQL),
    "psql": _database("cfl", "dhpUvPFRTLocf", "--command", "--file", "--list"),
    "sqlite3": _sqlite,
    "tmux": _tmux,
    "screen": _screen,
    "sftp": _sftp,
    "adb": _shell_of("shell", ""),
    "vagrant": _shell_of("ssh", "-c"),
}


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
_READS_STDIN = re.compile(r"-[a-zA-Z]*s[a-zA-Z]*")
# Options of interpreters and editors: something to do, and to wait for typed input after that.
_HAS_WORK = re.compile(
    r"-[a-zA-Z]*[eEp].*|-[rF].*|--(?:eval|print|check|run|test|file)(?:=.*)?", re.DOTALL
)
_PYTHON_HAS_WORK = re.compile(r"-[bBdEiIOPqsSuvx]*[cm].*", re.DOTALL)
_EDITOR_HAS_WORK = re.compile(r"-[a-zA-Z]*[cSs].*|--(?:batch|eval|cmd)(?:=.*)?|\+.*", re.DOTALL)
_INTERACTIVE = re.compile(r"-[bBdEIOPqsSuvx]*i[bBdEIOPqsSuvx]*|--interactive")
_VERSION_OPTION = re.compile(r"-(?:V+|v|h|\?)|--(?:version|help)")
_VALUED = re.compile(r"[-+](?:[a-zA-Z]*[oO]|[WX])|--(?:rcfile|init-file|require|import|loader)")
# Modules of Python, and subcommands of others, that prompt for commands.
_INTERACTIVE_MODULES = frozenset({"code", "asyncio", "pdb", "repl"})
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
    return next(_find_waiting(text[:MAX_TEXT].strip(), ShellState(start), 0), "")


def _find_waiting(text: str, state: ShellState, depth: int) -> Iterator[str]:
    if depth > MAX_DEPTH:
        return
    typed = False  # whether the pipe carries typed input
    for command in read_shell(text).commands:
        for word in (*command.words, *command.here):
            for piece in word:
                if piece.kind is PieceKind.COMMAND:
                    yield from _find_waiting(piece.text, state, depth + 1)
        words = state.of_command(command)
        is_open = _has_open_input(command, state) and (typed or not command.piped)
        yield from _check_command(words, state, depth, is_open=is_open)
        typed = is_open and _passes_on(words)


def _has_open_input(command: ShellCommand, state: ShellState) -> bool:
    """Whether the input of a command is not redirected."""
    return not command.here and _STDIN.issuperset(state.expand_all(command.reads))


def _passes_on(words: list[str]) -> bool:
    files = [one for one in words[1:] if not one.startswith("-") or one in _STDIN]
    program = base_name(words[0]) if words else ""
    return program == "tee" or (program in _PASSES_ON and _STDIN.issuperset(files))


def _check_command(
    words: list[str], state: ShellState, depth: int, *, is_open: bool
) -> Iterator[str]:
    program = base_name(words[0]) if words else ""
    if program in programs.STARTS and depth > MAX_DEPTH:
        yield program  # nested too deep: the last program is unknown
    elif program in programs.STARTS:
        for started in _started_commands(program, words[1:]):
            yield from _check_command(started, state, depth + 1, is_open=is_open)
        texts, _ = shell_texts(words)
        if is_open and not texts and _starts_shell(program, words[1:]):
            yield program
    elif program == "eval":
        yield from _find_waiting(" ".join(words[1:]), state, depth + 1)
    elif program in _SHELLS:
        texts, _ = shell_texts(words)
        for inner in texts:
            yield from _find_waiting(inner, state, depth + 1)
        if is_open and not texts and _is_waiting_shell(program, words[1:]):
            yield program
    elif is_open:
        yield from _check_prompt(program, words[1:], state, depth)


def _check_prompt(program: str, words: list[str], state: ShellState, depth: int) -> Iterator[str]:
    """Yield the program that waits, if `program` prompts or starts a shell elsewhere."""
    asked = prompt_result(program, words)
    if asked.waits or _has_no_work(program, words):
        yield program
    if asked.starts:  # a single word may be a shell text
        text = asked.starts[0] if len(asked.starts) == 1 else shlex.join(asked.starts)
        yield from _find_waiting(text, state, depth + 1)


def _started_commands(program: str, words: list[str]) -> Iterator[list[str]]:
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


def _is_waiting_shell(program: str, words: list[str]) -> bool:
    first = _operands(words)[:1]
    own = words[: words.index(first[0])] if first else words  # what follows is for a script
    if any(_VERSION_OPTION.fullmatch(one) for one in own):
        return False
    reads_on = any(_READS_STDIN.fullmatch(one) for one in own)
    return program == "su" or reads_on or _STDIN.issuperset(first)


def _has_no_work(program: str, words: list[str]) -> bool:
    """Whether an interpreter, editor or prompt has nothing to do but to wait for input."""
    if any(_VERSION_OPTION.fullmatch(one) for one in words[:1]):
        return False
    operands = _operands(words)
    if program in _EDITORS:
        return not any(_EDITOR_HAS_WORK.fullmatch(one) for one in words)
    if program not in _PROMPTS and not programs.RUNS_CODE.fullmatch(program):
        return False
    doing = _PYTHON_HAS_WORK if programs.PYTHON.fullmatch(program) else _HAS_WORK
    does = any(doing.fullmatch(one) for one in words)
    asks = operands[:1] and operands[0] in _INTERACTIVE_MODULES
    goes_on = any(_INTERACTIVE.fullmatch(one) for one in words)
    return bool(asks) or goes_on or (not does and _STDIN.issuperset(operands[:1]))


def _operands(words: list[str]) -> list[str]:
    """Return the words that are neither options nor their values."""
    before = ["", *words]
    return [
        one
        for last, one in zip(before, words, strict=False)
        if (not one.startswith(("-", "+")) or one in _STDIN) and not _VALUED.fullmatch(last)
    ]
