"""Run git and return its output, without starting any program that the repository names.

Bylaw also runs git in repositories that are not trusted. So it disables everything that the
settings of a repository could start: hooks, the file system monitor, filters, pagers, lazy
fetching. The user's own settings stay active. Git takes no lock and does not write the index; only
the demo lets git write, in a repository that it creates. `GIT_*` variables of the environment are
not passed on. Some git commands stay open and answer one question after another, see `Git.ask`.
"""

from __future__ import annotations

import os
import re
import select
import time
from contextlib import contextmanager, suppress
from shutil import which
from typing import TYPE_CHECKING

from bylaw.model.display import brief, clip_text, fact_path, file_path, visible
from bylaw.model.errors import BylawError
from bylaw.runtime.sandbox.command import (
    ERRORS_ARE_READ,
    MAX_ERROR_BYTES,
    PATH,
    READ_BYTES,
    Process,
    ProgramOutput,
    TooMuchOutputError,
    read_output,
)
from bylaw.store.files import os_error_text
from bylaw.store.paths import as_bytes, as_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_MS = 1000


class GitProcessEndedError(Exception):
    """The process has exited; `written` has its exit code and its errors."""

    def __init__(self, written: ProgramOutput) -> None:
        super().__init__(written.exit_code)
        self.written = written


class GitBatchProcess:
    """A running git process. It stops with `end`, or when this object is gone."""

    def __init__(self, argv: Sequence[str | bytes], variables: Mapping[str, str]) -> None:
        self._process = Process(argv, errors=ERRORS_ARE_READ, variables=variables)
        self._complaint = b""

    def ask(self, question: bytes, end: bytes, *, seconds: float, at_most: int) -> bytes:
        """Return the answer before the bytes `end`.

        A question must fit into the pipe, because nothing is read before all of it is sent.
        Raise TalkEndedError if the process exits, TooMuchOutputError or OSError.
        """
        deadline = time.monotonic() + seconds
        with suppress(BrokenPipeError):  # reading its output shows that the process has exited
            self._process.send(question, deadline)
        answer = bytearray()
        while not answer.endswith(end):
            answer += self._receive(deadline)
            if len(answer) > at_most:
                raise TooMuchOutputError
        return bytes(answer[: -len(end)])

    def end(self) -> None:
        """Stop the process."""
        self._process.kill()

    def _receive(self, deadline: float) -> bytes:
        poll = select.poll()
        poll.register(self._process.output, select.POLLIN)
        poll.register(self._process.errors, select.POLLIN)
        ready = poll.poll(max(0.0, deadline - time.monotonic()) * _MS)
        if not ready:
            raise TimeoutError
        pieces = {one: os.read(one, READ_BYTES) for one, _ in ready}
        # Read its errors as well, so that git never blocks on a full pipe.
        complaint = self._complaint + pieces.get(self._process.errors, b"")
        self._complaint = complaint[:MAX_ERROR_BYTES]
        if not any(pieces.values()):
            raise GitProcessEndedError(
                ProgramOutput(self._process.exit_code(deadline), b"", self._complaint)
            )
        return pieces.get(self._process.output, b"")


GIT_SECONDS = 60.0
MAX_GIT_OUTPUT = 64 << 20
MAX_SHOWN = 200

_VARIABLES = {
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",  # stops lazy fetching in git versions that cannot disable it
    "GIT_TERMINAL_PROMPT": "0",
}
# Passed on, because git finds the settings of the user by them.
_PASSED_VARIABLES = ("HOME", "XDG_CONFIG_HOME")
_SETTINGS = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.askPass=",
    "submodule.recurse=false",
)
_OPTIONS = ("--no-pager", "--no-optional-locks", "--no-replace-objects")
_LITERAL_PATHS = "--literal-pathspecs"
# Takes paths, not patterns, and rejects the option `--literal-pathspecs`.
_CHECK_IGNORE = "check-ignore"
# Always disabled: the settings of the repository decide what Git LFS starts.
_LFS_FILTER = b"lfs"


class Git:
    """Runs git in a folder, for at most `seconds` each time. `count` is the number of processes.

    A process that `ask` started runs until `hang_up`, or until this object is gone.
    """

    def __init__(self, program: str = "", seconds: float = 0.0) -> None:
        self.count = 0
        self._seconds = seconds or GIT_SECONDS
        self._program = program or _find_git()
        self._filters: tuple[bytes, ...] = (_LFS_FILTER,)
        self._processes: dict[tuple[str, ...], GitBatchProcess] = {}

    def disable_filters(self, names: Iterable[bytes]) -> None:
        """Disable these filters from now on. Raise BylawError if a name contains `=`."""
        self._filters = tuple(sorted({_LFS_FILTER, *names}))
        for name in self._filters:
            if b"=" in name:
                shown = clip_text(visible(as_text(name)), MAX_SHOWN)
                why = "Bylaw cannot disable it, because its name contains `=`"
                raise BylawError(f"the settings of the repository name a filter `{shown}`: {why}")

    def output(self, folder: str, *arguments: str) -> bytes:
        """Return the output of git. Raise BylawError if it fails."""
        written = self.run(folder, *arguments)
        if written.exit_code:
            raise git_error(folder, arguments[0], written)
        return written.output

    def run(self, folder: str, *arguments: str) -> ProgramOutput:
        """Return the output of git even if git fails. Raise BylawError if it does not finish."""
        self.count += 1
        argv = self._argv(folder, arguments)
        with _translate_errors(arguments[0], self._seconds):
            return read_output(
                argv,
                seconds=self._seconds,
                at_most=MAX_GIT_OUTPUT,
                variables=_variables(),
            )

    def ask(self, folder: str, *arguments: str, question: bytes, end: bytes) -> bytes:
        """Send a question to a git process that keeps running, and return its answer.

        The process is started by the first question with these `arguments`. The answer is
        everything before `end`. Raise BylawError if there is no answer.
        """
        talk = self._processes.pop(arguments, None)
        with _translate_errors(arguments[0], self._seconds):
            if talk is None:
                self.count += 1
                talk = GitBatchProcess(self._argv(folder, arguments), _variables())
            try:
                answer = talk.ask(question, end, seconds=self._seconds, at_most=MAX_GIT_OUTPUT)
            except GitProcessEndedError as ended:
                raise git_error(folder, arguments[0], ended.written) from None
        self._processes[arguments] = talk  # only here: a process that failed is not asked again
        return answer

    def hang_up(self, name: str = "") -> None:
        """Stop the processes that `ask` started: those of one git command, or all."""
        for arguments in [one for one in self._processes if name in ("", one[0])]:
            self._processes.pop(arguments).end()

    def _argv(self, folder: str, arguments: tuple[str, ...]) -> list[str | bytes]:
        literally = () if arguments[0] == _CHECK_IGNORE else (_LITERAL_PATHS,)
        options = (*_OPTIONS, *literally, *self._settings())
        return [self._program, *options, "-C", as_bytes(folder), *arguments]

    def _settings(self) -> Iterable[str | bytes]:
        for setting in _SETTINGS:
            yield from ("-c", setting)
        for name in self._filters:
            for off in (b"clean=", b"smudge=", b"process=", b"required=false"):
                yield from ("-c", b"filter.%b.%b" % (name, off))


@contextmanager
def _translate_errors(what: str, seconds: float) -> Iterator[None]:
    """Raise BylawError in place of the errors that keep git from finishing."""
    try:
        yield
    except TooMuchOutputError:
        limit = f"{MAX_GIT_OUTPUT >> 20} MiB"
        raise BylawError(f"the output of `git {what}` is larger than {limit}") from None
    except TimeoutError:
        raise BylawError(f"`git {what}` took longer than {seconds:.0f} s") from None
    except OSError as wrong:
        raise BylawError(f"cannot start git: {os_error_text(wrong)}") from None


def git_error(folder: str, what: str, written: ProgramOutput) -> BylawError:
    """Return the error that tells a person why git failed."""
    said = as_text(written.error_output)
    shown = clip_text(visible(folder), MAX_SHOWN)
    if "dubious ownership" in said or "unsafe repository" in said:
        how = f"`git config --global --add safe.directory {shown}`"
        return BylawError(
            f"the repository of `{shown}` belongs to another user; if you trust it, run {how}"
        )
    if "not a git repository" in said:
        return BylawError(f"`{shown}` is not in a git repository")
    lines = [line for line in said.splitlines() if line.strip()] or ["no error message"]
    why = next((line for line in lines if line.startswith("fatal:")), lines[-1])
    return BylawError(f"`git {what}` failed: {brief(visible(why.removeprefix('fatal: ')))}")


_SECTION = re.compile(rb'\[filter[ \t\r\f\v]+"((?:[^"\\\n]|\\[^\n])*)"', re.IGNORECASE)
_DOTTED = re.compile(rb"\[filter\.([^\]\n]+)\]", re.IGNORECASE)
_ESCAPE = re.compile(rb"\\(.)")


def filter_names(settings: bytes) -> set[bytes]:
    """Return the names of all filters in a git settings file, possibly with others."""
    sections = {_ESCAPE.sub(rb"\1", name) for name in _SECTION.findall(settings)}
    dotted = set(_DOTTED.findall(settings))
    return sections | dotted | {name.lower() for name in dotted}


def _find_git() -> str:
    found = which("git", path=PATH)
    if found is None:
        raise BylawError(f"program `git` not found in {PATH}")
    return found


def _variables() -> dict[str, str]:
    kept = {name: os.environ[name] for name in _PASSED_VARIABLES if name in os.environ}
    return {**kept, **_VARIABLES}


def fact_path_of(path: bytes) -> str:
    """Convert a path of git to a path for facts and records."""
    return fact_path(as_text(path))


def file_bytes(path: str) -> bytes:
    """Convert a path of a fact to a path of git. The reverse of `fact_path_of`."""
    return as_bytes(file_path(path))
