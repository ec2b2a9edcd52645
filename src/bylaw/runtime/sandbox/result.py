"""The result of a command and its isolation, for people and records."""

from __future__ import annotations

import signal
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct, field

from bylaw.runtime.sandbox import request
from bylaw.store.paths import as_bytes

if TYPE_CHECKING:
    from bylaw.model.values import JSON
    from bylaw.runtime.sandbox.request import CommandRequest, Refusal


class IsolationKind(StrEnum):
    """What isolates a command from the rest of the system."""

    BUBBLEWRAP = "bubblewrap"
    NOTHING = "none"


class Isolation(Struct, frozen=True):
    """The isolation of a command; `why` says why there was none."""

    by: IsolationKind
    why: str = ""

    def as_json(self) -> dict[str, JSON]:
        """Return the isolation as a record stores it."""
        said: dict[str, JSON] = {"by": str(self.by)}
        return said | {"why": self.why} if self.why else said


NOT_STARTED = Isolation(IsolationKind.NOTHING, "nothing was started")


EXIT_CODE = "exit code"


class CommandEnd(StrEnum):
    """How a command ended."""

    EXITED = "exited"
    KILLED = "killed"
    TIMED_OUT = "timed out"
    CANCELLED = "cancelled"
    CROWDED = "too many processes"
    FLOODED = "too much output"
    REFUSED = "refused"


class Output(Struct, frozen=True):
    """The beginning and the end of a stream; `cut` bytes between them were dropped."""

    head: bytes = b""
    tail: bytes = b""
    cut: int = 0

    @property
    def size(self) -> int:
        """The number of bytes that the command wrote."""
        return len(self.head) + len(self.tail) + self.cut

    @property
    def text(self) -> str:
        """The output as text: invalid UTF-8 is replaced, and dropped bytes are mentioned."""
        if not self.cut:
            return (self.head + self.tail).decode("utf-8", "replace")
        head, tail = (part.decode("utf-8", "replace") for part in (self.head, self.tail))
        return f"{head}\n… {self.cut:,} bytes left out …\n{tail}"


class CommandResult(Struct, frozen=True, kw_only=True):
    """The result of a command. `program` was started in the folder `cwd`, both without links.

    `left` is the number of processes that had to be stopped after it, counted only with `tidy`.
    """

    command: CommandRequest
    ending: CommandEnd
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
    def refused(cls, command: CommandRequest, refusal: Refusal, why: str) -> CommandResult:
        """Return the result of a command that was not started."""
        return cls(command=command, ending=CommandEnd.REFUSED, refusal=refusal, why=why)

    @property
    def ok(self) -> bool:
        """Whether it ran to its end with exit code 0 and broke no limit."""
        return self.ending is CommandEnd.EXITED and self.exit_code == 0 and not self._tidy_error

    @property
    def argv(self) -> tuple[str, ...]:
        """Its arguments, as a record can store them."""
        return tuple(map(_as_text, self.command.argv))

    @property
    def timed_out(self) -> bool:
        """Whether it was stopped because it took too long."""
        return self.ending is CommandEnd.TIMED_OUT

    @property
    def cancelled(self) -> bool:
        """Whether it was cancelled."""
        return self.ending is CommandEnd.CANCELLED

    @property
    def error(self) -> str:
        """What went wrong, in words; empty if nothing did."""
        match self.ending:
            case CommandEnd.EXITED:
                return f"{EXIT_CODE} {self.exit_code}" if self.exit_code else self._tidy_error
            case CommandEnd.KILLED:
                return f"killed by {_signal_name(self.signal)}"
            case CommandEnd.TIMED_OUT:
                return f"took longer than {self.command.timeout_s:g} s"
            case CommandEnd.CROWDED:
                return f"had more than {request.MAX_PROCESSES:,} processes"
            case CommandEnd.FLOODED:
                return f"wrote more than {request.MAX_WRITTEN:,} bytes and was stopped"
            case CommandEnd.CANCELLED:
                return "cancelled"
            case CommandEnd.REFUSED:
                return self.why

    @property
    def _tidy_error(self) -> str:
        if self.left:
            if self.left == 1:
                return "left 1 process behind, which was stopped"
            return f"left {self.left:,} processes behind, which were stopped"
        if self.command.tidy and self.stdout.size + self.stderr.size > request.MAX_WRITTEN:
            return f"wrote more than {request.MAX_WRITTEN:,} bytes"
        return ""

    def as_json(self) -> dict[str, JSON]:
        """Return the result as a record stores it; `result` is the standard output."""
        said: dict[str, JSON] = {"error": self.error} if self.error else {}
        if self.refusal is not None:
            said["refusal"] = str(self.refusal)
        return said | {
            "argv": [*self.argv],
            "program": _as_text(self.program),
            "cwd": _as_text(self.cwd),
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
                "processes": request.MAX_PROCESSES,
                "file": request.MAX_FILE,
                **({"written": request.MAX_WRITTEN} if self.command.tidy else {}),
            },
        }


def _signal_name(number: int | None) -> str:
    try:
        return signal.Signals(number or 0).name
    except ValueError:
        return f"signal {number}"


def _as_text(text: str) -> str:
    # A file name may contain bytes that a record cannot store.
    return as_bytes(text).decode("utf-8", "backslashreplace")
