"""Find programs that prompt for commands, or that open a shell elsewhere.

Debuggers, clients of databases and multiplexers can run shell commands from their prompts.
Containers and other machines may have access to the files of this one.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


class Asked(NamedTuple):
    """What a program does with typed input: it `waits` for it, or passes it to what it `starts`."""

    waits: bool
    starts: tuple[str, ...] = ()


_NOTHING = Asked(waits=False)
_TELLS = frozenset({"V", "-V", "--version", "--help", "-version", "-help"})
_ENDS = frozenset({"q", "quit", "exit"})
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
_HOLDS = frozenset({"i", "--interactive", "--stdin"})
_DETACHED = frozenset({"d", "--detach"})


class _Said(NamedTuple):
    """The options of a program by letters and long names, and its other words."""

    flags: frozenset[str]
    rest: tuple[str, ...]


def asked_by(program: str, words: list[str]) -> Asked:
    """Return what a program with these words does with typed input, if it is in the tables."""
    if program in _CONTAINERS:
        return _container(program, words)
    ask = _ASKING.get(program)
    return ask(words) if ask and not _TELLS.intersection(words[:1]) else _NOTHING


def _said(words: list[str], valued: str, long_flags: frozenset[str] | None = None) -> _Said:
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
    return _Said(frozenset(flags), tuple(todo))


def _all_flags(words: list[str], valued: str) -> frozenset[str]:
    """Return the options of a program that accepts them anywhere."""
    flags, rest = _said(words, valued)
    while rest:
        more, rest = _said(list(rest[1:]), valued)
        flags |= more
    return flags


def _database(doing: str, valued: str, *long: str) -> Callable[[list[str]], Asked]:
    does = frozenset({*doing, *long})
    return lambda words: Asked(not does & _all_flags(words, valued))


def _debugger(words: list[str]) -> Asked:
    batch = {"-batch", "--batch", "-b", "-P"}.intersection(words)
    return Asked(not batch and not _ENDS.intersection(one.rpartition("=")[2] for one in words))


def _sqlite(words: list[str]) -> Asked:
    """`sqlite3 FILE STATEMENT` runs the statement; without one, it prompts."""
    plain = [one.replace("--", "-", 1) for one in words]
    named = [two for one, two in pairwise(["", *plain])
             if not two.startswith("-") and one not in _SQLITE_VALUED]  # fmt: skip
    return Asked(len(named) <= 1)


def _tmux(words: list[str]) -> Asked:
    _, rest = _said(words, "LSfc")
    if rest[:1] and rest[0] not in _TMUX_ATTACHES:
        return _NOTHING
    detached = rest[:1] and "d" in _said(list(rest[1:]), "stcnxyeFf").flags
    return Asked(not detached or rest[0].startswith("a"))  # `attach -d` detaches others


def _screen(words: list[str]) -> Asked:
    lists = {"-ls", "-list", "-wipe", "-v", "-X"}.intersection(words)
    return Asked(not lists and not {"d", "m"} <= _said(words, "SchpstTe").flags)


def _ssh(words: list[str]) -> Asked:
    flags, rest = _said(words, _SSH_VALUED)
    more, command = _said(list(rest[1:]), _SSH_VALUED)
    does = (flags | more) & frozenset("NVQGOWs") or rest[:1] == () or rest[0].startswith("git@")
    return _NOTHING if does else Asked(not command, (" ".join(command),) if command else ())


def _sftp(words: list[str]) -> Asked:
    return Asked("b" not in _said(words, "BbcDFiJloPRSsX").flags)


def _container(program: str, words: list[str]) -> Asked:
    """`docker run -it IMAGE COMMAND`; `compose` passes on input without an option."""
    rest = _said(words, _CONTAINER_VALUED, _CONTAINER_FLAGS).rest
    composes = program.endswith("compose") or rest[:1] == ("compose",)
    if rest[:1] in {("compose",), ("container",)}:
        rest = _said(list(rest[1:]), _CONTAINER_VALUED, _CONTAINER_FLAGS).rest
    verb = rest[0] if rest else ""
    flags, behind = _said(list(rest[1:]), _CONTAINER_VALUED, _CONTAINER_FLAGS)
    if verb == "attach":
        return Asked(waits=True)
    if verb not in {"run", "exec"} or flags & _DETACHED or not (composes or flags & _HOLDS):
        return _NOTHING
    return Asked(len(behind) == 1 and not composes, behind[1:])


def _kubectl(words: list[str]) -> Asked:
    """`kubectl exec -it POD -- COMMAND`; its options may be anywhere before `--`."""
    own = words[: words.index("--")] if "--" in words else words
    verb = next((one for one in own if one in {"exec", "run", "attach", "debug"}), "")
    if not verb or not _HOLDS & _all_flags(own, "ncfls"):
        return _NOTHING
    behind = _said(own[own.index(verb) + 1 :], "ncfls").rest
    command = tuple(words[len(own) + 1 :]) or (behind[1:] if verb == "exec" else ())
    return Asked(not command, command)


def _shell_of(verb: str, doing: str) -> Callable[[list[str]], Asked]:
    """Such as `adb shell`: a shell that waits for input, unless it gets a command."""

    def ask(words: list[str]) -> Asked:
        behind = words[words.index(verb) + 1 :] if verb in words else []
        does = any(one.startswith(doing) if doing else not one.startswith("-") for one in behind)
        return Asked(verb in words and not does)

    return ask


def _always(_: list[str]) -> Asked:
    return Asked(waits=True)


_MYSQL = _database("e", "uhPDSepE", "--execute", "--version", "--help")
_ASKING: dict[str, Callable[[list[str]], Asked]] = {
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
