"""What became of a command, for people and records."""

from __future__ import annotations

import signal
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct, field

from bylaw.runtime.paths import as_bytes
from bylaw.runtime.watched import limits
from bylaw.runtime.watched.isolation import NOT_STARTED, Isolation

if TYPE_CHECKING:
    from bylaw.model.values import JSON
    from bylaw.runtime.watched.order import Command, Refusal


EXIT_CODE = "exit code"


class Ending(StrEnum):
    """How a command ended."""

    EXITED = "exited"
    KILLED = "killed"
    TIMED_OUT = "timed out"
    CANCELLED = "cancelled"
    CROWDED = "too many processes"
    FLOODED = "too much output"
    REFUSED = "refused"


class Output(Struct, frozen=True):
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


class CommandResult(Struct, frozen=True, kw_only=True):
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
    def argv(self) -> tuple[str, ...]:
        """Its words, as a record can hold them."""
        return tuple(map(_plain, self.command.argv))

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
                return f"{EXIT_CODE} {self.exit_code}" if self.exit_code else self._untidy
            case Ending.KILLED:
                return f"killed by {_signal_name(self.signal)}"
            case Ending.TIMED_OUT:
                return f"took longer than {self.command.timeout_s:g} s"
            case Ending.CROWDED:
                return f"had more than {limits.MAX_PROCESSES:,} processes"
            case Ending.FLOODED:
                return f"wrote more than {limits.MAX_WRITTEN:,} bytes, and was ended"
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
        if self.command.tidy and self.stdout.size + self.stderr.size > limits.MAX_WRITTEN:
            return f"wrote more than {limits.MAX_WRITTEN:,} bytes"
        return ""

    def as_json(self) -> dict[str, JSON]:
        """As it stands in a record; `result` is what was printed."""
        said: dict[str, JSON] = {"error": self.error} if self.error else {}
        if self.refusal is not None:
            said["refusal"] = str(self.refusal)
        return said | {
            "argv": [*self.argv],
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
                "processes": limits.MAX_PROCESSES,
                "file": limits.MAX_FILE,
                **({"written": limits.MAX_WRITTEN} if self.command.tidy else {}),
            },
        }


def _signal_name(number: int | None) -> str:
    try:
        return signal.Signals(number or 0).name
    except ValueError:
        return f"signal {number}"


def _plain(text: str) -> str:
    # A name of a file may hold bytes that no record can.
    return as_bytes(text).decode("utf-8", "backslashreplace")
