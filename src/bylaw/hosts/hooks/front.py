"""`bylaw hook HOST [EVENT]`: the process that a client starts, and that owns what a failure means.

It reads the payload and lets another process judge it: the resident if there is one, else a child
of its own. Whatever happens to that process, also a crash, a kill or a time-out, this one prints
exactly one answer. It starts with every call of every tool, so next to nothing is imported here:
what the interpreter has anyway, and a few small modules of ours that keep to the same.
"""

from __future__ import annotations

import os
import select
import time

from bylaw.hosts.hooks.closing import (
    CLOSED_WORDS,
    REFUSED,
    SILENCE,
    STOP_NAMES,
    client_behind,
    closed,
    is_gate,
    patience_s,
    warned,
)
from bylaw.hosts.hooks.failed_stops import are_counted, forget, is_one_too_many
from bylaw.hosts.hooks.line import GO, TAKEN, connected, is_wanted, request, resident_command
from bylaw.hosts.hooks.packing import ANSWER, FAILED, OPEN, message_in, send, unpack

TYPE_CHECKING = False  # `typing` is heavy here, and type checkers know this name
if TYPE_CHECKING:
    import _socket

MAX_PAYLOAD = 32 << 20
MAX_ANSWER = 64 << 20
_PIECE = 1 << 16
# A resident that is well takes a call in milliseconds; what is left is for a child of our own.
HAND_OVER_S = 2.0
_HAND_OVER_SHARE = 3
WAY_OUT = "see `bylaw doctor`; `bylaw doctor --release 10` opens gates for ten minutes"


def run(host: str, event: str) -> int:
    """Answer one call of a client; the result is the exit code."""
    begun = time.monotonic()
    data, ended = _payload(begun + patience_s(event))
    name = event or _event_in(data)
    if len(data) > MAX_PAYLOAD:
        return _fail(host, name, f"the payload is larger than {MAX_PAYLOAD >> 20} MiB", data)
    if not ended:
        return _fail(host, name, "the payload did not come to its end", data)
    if host not in CLOSED_WORDS:
        return _fail(host, name, _no_client(host), data)
    said, why = _asked(host, name, data, begun + patience_s(name))
    opens = said.startswith(OPEN)
    kind, body = message_in(said)
    if kind == ANSWER:
        code = _print(*unpack(body))
        if name in STOP_NAMES and are_counted():
            forget(host, name, _top_of(data))
        return code
    if kind == FAILED:
        why = body.decode("utf-8", "replace")
    return _fail(host, name, why or "it ended without an answer", data, opens=opens)


def _top_of(data: bytes) -> dict[str, object]:
    """What stands at the top of a payload: what is below may be an agent's own words."""
    import json  # noqa: PLC0415 - heavy, and seldom needed

    try:
        found = json.loads(data, object_pairs_hook=_each_once)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _each_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """A payload that names two events names none, and may be about a gate."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


def _event_in(data: bytes) -> str:
    """The event that a payload names; empty if it names none."""
    name = _top_of(data).get("hook_event_name")
    return name if isinstance(name, str) else ""


def _payload(until: float) -> tuple[bytes, bool]:
    """What the client sends, and whether it came to its end in time."""
    pieces: list[bytes] = []
    size = 0
    while size <= MAX_PAYLOAD:
        if not select.select([0], [], [], max(until - time.monotonic(), 0))[0]:
            return b"".join(pieces), False
        piece = os.read(0, _PIECE)
        if not piece:
            break
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces), True


def _asked(host: str, event: str, data: bytes, until: float) -> tuple[bytes, str]:
    """What whoever judges says, and why it says nothing more."""
    if is_wanted():
        answer = _of_resident(host, event, data, until)
        if answer is not None:
            return answer
    return _of_child(host, event, data, until)


def _of_resident(host: str, event: str, data: bytes, until: float) -> tuple[bytes, str] | None:
    """The same of a process that is there already; None if there is none that takes it."""
    line = connected()
    if line is None:
        return None
    try:
        taken = _handed_over(line, request(host, event, data), until)
    except OSError:
        taken = False
    said, ended = _heard(line.fileno(), until) if taken else (b"", False)
    line.close()
    return (said, "" if ended else _too_long(event)) if taken else None


def _handed_over(line: _socket.socket, asked: bytes, until: float) -> bool:
    """Whether the resident has all of it, and judges; if not, it never will: it was not told to."""
    now = time.monotonic()
    until = min(now + HAND_OVER_S, now + (until - now) / _HAND_OVER_SHARE)
    line.settimeout(0)
    left = memoryview(asked)
    while left:
        if not select.select([], [line], [], max(until - time.monotonic(), 0))[1]:
            return False
        left = left[line.send(left) :]
    if not select.select([line], [], [], max(until - time.monotonic(), 0))[0]:
        return False
    return line.recv(len(TAKEN)) == TAKEN and line.send(GO) == len(GO)


def _of_child(host: str, event: str, data: bytes, until: float) -> tuple[bytes, str]:
    from bylaw.hosts.hooks.judging import judge  # noqa: PLC0415 - a resident does without

    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        judge(host, event, data, writing)
    os.close(writing)
    said, ended = _heard(reading, until)
    os.close(reading)
    if message_in(said)[0]:
        return said, ""  # it closes what it has opened without us
    if not ended:
        os.kill(child, 9)
    _, status = os.waitpid(child, 0)
    return said, _end(status) if ended else _too_long(event)


def _too_long(event: str) -> str:
    return f"it took longer than {patience_s(event):g} s"


def _heard(reading: int, until: float) -> tuple[bytes, bool]:
    """What was said until the answer was whole, or the end; and whether that came in time."""
    said = b""
    while not message_in(said)[0]:
        left = until - time.monotonic()
        if left <= 0 or not select.select([reading], [], [], left)[0]:
            return said, False
        piece = os.read(reading, _PIECE)
        if not piece or len(said) > MAX_ANSWER:
            return said, True
        said += piece
    return said, True


def _end(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"it was killed by signal {os.WTERMSIG(status)}"
    return ""


def _fail(host: str, name: str, why: str, data: bytes = b"", *, opens: bool = False) -> int:
    """Close a gate, unless failures are to open it; say so in either case.

    `name` is the event, empty if nobody says which it is: then it may be a gate.
    """
    reason = f"bylaw failed, so nothing is let through: {why}\n{WAY_OUT}"
    if host not in CLOSED_WORDS:
        reason = f"nothing is let through: {why}"  # no failure: nobody should open gates for it
    closes = is_gate(host, name) and not (opens or _is_released())
    if closes and name in STOP_NAMES:
        closes = not _count_failed_stop(host, name, data, why)
    if closes:
        stdout, stderr, code = closed(host, name, reason)
        return _print(stdout.encode(), stderr.encode("utf-8", "replace"), code)
    note = f"bylaw failed, and nothing was checked: {why}"
    told = warned(host, f"{note}\n{WAY_OUT}") if name in STOP_NAMES else ""
    words = (told or SILENCE.get(host, "")).encode()
    return _print(words, f"{note}\n".encode("utf-8", "replace"), 0)


def _no_client(host: str) -> str:
    from bylaw.model.suggest import nearest  # noqa: PLC0415 - a slip of whoever wrote the hook
    from bylaw.model.visible import brief, visible  # noqa: PLC0415 - same

    near = nearest(host, CLOSED_WORDS)
    meant = f"did you mean `{near}`? " if near else ""
    known = ", ".join(CLOSED_WORDS)
    return f"there is no client `{visible(brief(host))}`; {meant}known: {known}"


def _is_released() -> bool:
    """Whether a person has opened gates, see `bylaw doctor --release`."""
    try:
        from bylaw.hosts.hooks.open_gates import released_until  # noqa: PLC0415 - seldom needed

        return bool(released_until())
    except Exception:  # noqa: BLE001 - what fails here must not open a gate either
        return False


def _count_failed_stop(host: str, name: str, data: bytes, why: str) -> bool:
    """Count a stop that would be blocked; whether it is let go, since others were just before.

    A gate that fails must not keep an agent for ever.
    """
    payload = _top_of(data)
    rounds = payload.get("loop_count")
    again = payload.get("stop_hook_active") is True or (type(rounds) is int and rounds > 0)
    try:
        return is_one_too_many(host, name, payload, why) or again
    except Exception:  # noqa: BLE001 - what fails here must not open a gate either
        return again


def _print(stdout: bytes, stderr: bytes, code: int) -> int:
    """Somebody may have closed either; what cannot be said on one of them is no answer."""
    try:
        send(1, stdout)
    except OSError:
        code = REFUSED if stdout else code
    try:
        send(2, stderr)
    except OSError:
        return code  # a client that does not listen there takes its own JSON
    return code


def main(arguments: list[str]) -> int:
    """The arguments behind `hook`; wrong ones are a refusal, too."""
    host = client_behind(arguments[0], os.environ)
    event = arguments[1] if len(arguments) > 1 else ""
    try:
        code = run(host, event)
    except Exception as wrong:  # noqa: BLE001 - a gate must not open because of a bug
        # Without the payload, which is lost: standard input is read only once.
        return _fail(host, event, f"{type(wrong).__name__}: {wrong}")
    try:
        _leave_resident()
    except Exception:  # noqa: BLE001 - the client has its answer, and this is no part of it
        return code
    return code


def _leave_resident() -> None:
    """Start the process that will be asked next time; it is no matter if that fails."""
    if not is_wanted():
        return
    line = connected()
    if line is not None:
        line.close()
        return
    command = resident_command()
    try:
        os.posix_spawn(command[0], command, os.environ, file_actions=_nothing_open(), setsid=True)
    except (OSError, NotImplementedError):
        return


def _nothing_open() -> list[tuple[int, ...] | tuple[int, int, str, int, int]]:
    """So that no client waits for a pipe that the resident has not closed."""
    ours = range(3)
    silent = [(os.POSIX_SPAWN_OPEN, one, os.devnull, os.O_RDWR, 0) for one in ours]
    found = sorted(int(one) for one in os.listdir("/proc/self/fd"))  # noqa: PTH208 - heavy
    # What was open only while this was listed is gone by now, and closing it again does no harm.
    return [*silent, *((os.POSIX_SPAWN_CLOSE, one) for one in found if one not in ours)]
