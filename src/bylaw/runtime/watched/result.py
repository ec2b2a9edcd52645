"""A command as somebody wants it run, and what became of it."""

from __future__ import annotations

import os
import signal
import weakref
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from bylaw.runtime.paths import as_bytes

if TYPE_CHECKING:
    from bylaw.model.values import JSON

MAX_OUTPUT = 16 << 10  # bytes of each stream that are kept
# More than a build with all cores of a large machine needs; threads count as well.
MAX_PROCESSES = 8192
MAX_FILE = 4 << 30  # bytes
# Of both streams together: no report for people is as long, however much a build has to say.
MAX_WRITTEN = 10_000_000


class Ending(StrEnum):
    """How a command ended."""

    EXITED = "exited"
    KILLED = "killed"
    TIMED_OUT = "timed out"
    CANCELLED = "cancelled"
    CROWDED = "too many processes"
    REFUSED = "refused"


class Refusal(StrEnum):
    """Why a command was not started."""

    UNTRUSTED = "untrusted"
    EMPTY = "empty"
    NUL = "null byte"
    NOT_TEXT = "not text"
    TOO_LONG = "too long"
    NOT_ALLOWED = "not allowed"
    NOT_FOUND = "not found"
    NOT_EXECUTABLE = "not executable"
    VANISHED = "vanished"
    OUTSIDE = "outside"
    NO_FOLDER = "no folder"
    FOLDER_CHANGED = "folder changed"
    NOT_STARTED = "not started"


class RefusedError(Exception):
    """A command must not be started, or cannot be."""

    def __init__(self, refusal: Refusal, why: str) -> None:
        super().__init__(why)
        self.refusal = refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What to run, where and within which bounds; all paths are absolute.

    `cwd` must really lie in one of the `roots`, which must really lie in `top`. `allow` are
    programs by name, or by absolute path; None is any. With `scripts` a program may also be a file
    of `top`, by its path from there. `env` are names of variables that it may see beside the usual
    ones. With `tidy` it has failed if it wrote a flood, or left processes behind.
    """

    argv: tuple[str, ...]
    cwd: str
    roots: tuple[str, ...]
    timeout_s: float
    top: str = "/"
    allow: frozenset[str] | None = None
    scripts: bool = False
    tidy: bool = False
    env: tuple[str, ...] = ()
    max_output: int = MAX_OUTPUT
    max_processes: int = MAX_PROCESSES
    isolate: bool = True


class IsolatedBy(StrEnum):
    """What keeps a command from the rest of the system."""

    BUBBLEWRAP = "bubblewrap"
    NOTHING = "none"


@dataclass(frozen=True, slots=True)
class Isolation:
    """The isolation that was in force, and why there was none."""

    by: IsolatedBy
    why: str = ""

    def as_json(self) -> dict[str, JSON]:
        """As it stands in a record."""
        said: dict[str, JSON] = {"by": str(self.by)}
        return said | {"why": self.why} if self.why else said


NOT_STARTED = Isolation(IsolatedBy.NOTHING, "nothing was started")
NOT_WANTED = Isolation(IsolatedBy.NOTHING, "it was not asked for")


@dataclass(frozen=True, slots=True)
class Output:
    """The beginning and the end of what was printed; `cut` bytes between them are lost."""

    head: bytes = b""
    tail: bytes = b""
    cut: int = 0

    @property
    def size(self) -> int:
        """How many bytes were printed."""
        return len(self.head) + len(self.tail) + self.cut

    @property
    def text(self) -> str:
        """For people and records: what is not UTF-8 is replaced, and what is lost is told."""
        if not self.cut:
            return (self.head + self.tail).decode("utf-8", "replace")
        head, tail = (part.decode("utf-8", "replace") for part in (self.head, self.tail))
        return f"{head}\n… {self.cut:,} bytes left out …\n{tail}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResult:
    """How a command ended. `program` is what was started, `cwd` where, both without links.

    `left` are the processes that had to be ended after it, counted only if it was to be tidy.
    """

    command: Command
    ending: Ending
    program: str = ""
    cwd: str = ""
    exit_code: int | None = None
    signal: int | None = None
    stdout: Output = field(default_factory=Output)
    stderr: Output = field(default_factory=Output)
    left: int = 0
    ms: int = 0
    isolation: Isolation = NOT_STARTED
    refusal: Refusal | None = None
    why: str = ""

    @classmethod
    def refused(cls, command: Command, refusal: Refusal, why: str) -> CommandResult:
        """The result of a command that was not started."""
        return cls(command=command, ending=Ending.REFUSED, refusal=refusal, why=why)

    @property
    def ok(self) -> bool:
        """It ran to its end and says that all is well."""
        return self.ending is Ending.EXITED and self.exit_code == 0 and not self._untidy

    @property
    def timed_out(self) -> bool:
        """It was ended because it took too long."""
        return self.ending is Ending.TIMED_OUT

    @property
    def cancelled(self) -> bool:
        """Somebody wanted it to end."""
        return self.ending is Ending.CANCELLED

    @property
    def error(self) -> str:
        """What went wrong, in words; empty if nothing did."""
        match self.ending:
            case Ending.EXITED:
                return f"exit code {self.exit_code}" if self.exit_code else self._untidy
            case Ending.KILLED:
                return f"killed by {_signal_name(self.signal)}"
            case Ending.TIMED_OUT:
                return f"took longer than {self.command.timeout_s:g} s"
            case Ending.CROWDED:
                return f"had more than {self.command.max_processes:,} processes"
            case Ending.CANCELLED:
                return "cancelled"
            case Ending.REFUSED:
                return self.why

    @property
    def _untidy(self) -> str:
        if self.left:
            if self.left == 1:
                return "left 1 process behind, which was ended"
            return f"left {self.left:,} processes behind, which were ended"
        if self.command.tidy and self.stdout.size + self.stderr.size > MAX_WRITTEN:
            return f"wrote more than {MAX_WRITTEN:,} bytes"
        return ""

    def as_json(self) -> dict[str, JSON]:
        """As it stands in a record; `result` is what was printed."""
        said: dict[str, JSON] = {"error": self.error} if self.error else {}
        if self.refusal is not None:
            said["refusal"] = str(self.refusal)
        return said | {
            "argv": [_plain(word) for word in self.command.argv],
            "program": _plain(self.program),
            "cwd": _plain(self.cwd),
            "ending": str(self.ending),
            "exit_code": self.exit_code,
            "signal": self.signal,
            "result": self.stdout.text,
            "stderr": self.stderr.text,
            "cut": {"stdout": self.stdout.cut, "stderr": self.stderr.cut},
            "isolation": self.isolation.as_json(),
            "limits": {
                "timeout_s": self.command.timeout_s,
                "output": self.command.max_output,
                "processes": self.command.max_processes,
                "file": MAX_FILE,
                **({"written": MAX_WRITTEN} if self.command.tidy else {}),
            },
        }


class Cancellation:
    """Ends commands that were given it, for good; from any thread, also in a signal handler."""

    def __init__(self) -> None:
        self.descriptor = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self.cancelled = False
        weakref.finalize(self, os.close, self.descriptor)

    def cancel(self) -> None:
        """End them now."""
        self.cancelled = True
        os.eventfd_write(self.descriptor, 1)


def _signal_name(number: int | None) -> str:
    try:
        return signal.Signals(number or 0).name
    except ValueError:
        return f"signal {number}"


def _plain(text: str) -> str:
    # A name of a file may hold bytes that no record can.
    return as_bytes(text).decode("utf-8", "backslashreplace")
