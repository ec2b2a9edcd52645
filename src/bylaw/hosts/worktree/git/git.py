"""Run git and return its output, without starting any program that the repository names.

Bylaw also runs git in repositories that are not trusted. So it disables everything that the
settings of a repository could start: hooks, the file system monitor, filters, pagers, lazy
fetching. The user's own settings, such as which files to ignore, stay active. Bylaw only reads: git
takes no lock and does not write the index. Only the demo lets git write, in a repository that it
creates. `GIT_*` variables of the environment are not passed on.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from shutil import which
from typing import TYPE_CHECKING

from bylaw.hosts.worktree.git.talk import Talk, TalkEndedError
from bylaw.model.errors import BylawError
from bylaw.model.visible import brief, clipped, visible
from bylaw.runtime.command import PATH
from bylaw.runtime.paths import as_bytes, as_text
from bylaw.runtime.program_output import TooMuchOutputError, Written, output_of
from bylaw.runtime.reading import in_plain_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

GIT_SECONDS = 60.0
MAX_GIT_OUTPUT = 64 << 20
MAX_SHOWN = 200

_VARIABLES = {
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",  # stops lazy fetching in git versions that cannot disable it
    "GIT_TERMINAL_PROMPT": "0",
}
# Passed on, because git finds the settings of the user by them.
_KEPT = ("HOME", "XDG_CONFIG_HOME")
_SETTINGS = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.askPass=",
    "submodule.recurse=false",
)
_OPTIONS = ("--no-pager", "--no-optional-locks", "--no-replace-objects")
_LITERALLY = "--literal-pathspecs"
# Takes paths, not patterns, and rejects the option `--literal-pathspecs`.
_TAKES_PATHS = "check-ignore"
# Always disabled: the settings of the repository decide what Git LFS starts.
_LFS = b"lfs"


class Git:
    """Runs git in a folder, for at most `seconds` each time. `count` is the number of processes.

    A process that `ask` started runs until `hang_up`, or until this object is gone.
    """

    def __init__(self, program: str = "", seconds: float = 0.0) -> None:
        self.count = 0
        self._seconds = seconds or GIT_SECONDS
        self._program = program or _found()
        self._filters: tuple[bytes, ...] = (_LFS,)
        self._talks: dict[tuple[str, ...], Talk] = {}

    def without_filters(self, names: Iterable[bytes]) -> None:
        """Disable these filters from now on. Raise BylawError if a name contains `=`."""
        self._filters = tuple(sorted({_LFS, *names}))
        for name in self._filters:
            if b"=" in name:
                shown = clipped(visible(as_text(name)), MAX_SHOWN)
                why = "Bylaw cannot disable it, because its name contains `=`"
                raise BylawError(f"the settings of the repository name a filter `{shown}`: {why}")

    def output(self, folder: str, *arguments: str) -> bytes:
        """Return the output of git. Raise BylawError if it fails."""
        written = self.run(folder, *arguments)
        if written.exit_code:
            raise failure(folder, arguments[0], written)
        return written.output

    def run(self, folder: str, *arguments: str) -> Written:
        """Return the output of git even if git fails. Raise BylawError if it does not finish."""
        self.count += 1
        argv = self._argv(folder, arguments)
        with _in_words(arguments[0], self._seconds):
            return output_of(
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
        talk = self._talks.pop(arguments, None)
        with _in_words(arguments[0], self._seconds):
            if talk is None:
                self.count += 1
                talk = Talk(self._argv(folder, arguments), _variables())
            try:
                answer = talk.ask(question, end, seconds=self._seconds, at_most=MAX_GIT_OUTPUT)
            except TalkEndedError as ended:
                raise failure(folder, arguments[0], ended.written) from None
        self._talks[arguments] = talk  # only here: a process that failed is not asked again
        return answer

    def hang_up(self, name: str = "") -> None:
        """Stop the processes that `ask` started: those of one git command, or all."""
        for arguments in [one for one in self._talks if name in ("", one[0])]:
            self._talks.pop(arguments).end()

    def _argv(self, folder: str, arguments: tuple[str, ...]) -> list[str | bytes]:
        literally = () if arguments[0] == _TAKES_PATHS else (_LITERALLY,)
        options = (*_OPTIONS, *literally, *self._settings())
        return [self._program, *options, "-C", as_bytes(folder), *arguments]

    def _settings(self) -> Iterable[str | bytes]:
        for setting in _SETTINGS:
            yield from ("-c", setting)
        for name in self._filters:
            for off in (b"clean=", b"smudge=", b"process=", b"required=false"):
                yield from ("-c", b"filter.%b.%b" % (name, off))


@contextmanager
def _in_words(what: str, seconds: float) -> Iterator[None]:
    """Raise BylawError in place of the errors that keep git from finishing."""
    try:
        yield
    except TooMuchOutputError:
        limit = f"{MAX_GIT_OUTPUT >> 20} MiB"
        raise BylawError(f"the output of `git {what}` is larger than {limit}") from None
    except TimeoutError:
        raise BylawError(f"`git {what}` took longer than {seconds:.0f} s") from None
    except OSError as wrong:
        raise BylawError(f"cannot start git: {in_plain_words(wrong)}") from None


def failure(folder: str, what: str, written: Written) -> BylawError:
    """Return the error that tells a person why git failed."""
    said = as_text(written.complaint)
    shown = clipped(visible(folder), MAX_SHOWN)
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


def filters_in(settings: bytes) -> set[bytes]:
    """Return the names of all filters in a git settings file, possibly with others."""
    sections = {_ESCAPE.sub(rb"\1", name) for name in _SECTION.findall(settings)}
    dotted = set(_DOTTED.findall(settings))
    return sections | dotted | {name.lower() for name in dotted}


def _found() -> str:
    found = which("git", path=PATH)
    if found is None:
        raise BylawError(f"program `git` not found in {PATH}")
    return found


def _variables() -> dict[str, str]:
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {**kept, **_VARIABLES}
