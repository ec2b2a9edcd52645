"""Entry point of `bylaw hook HOST [EVENT]`. Prints exactly one answer, even if the decision fails.

It reads the payload and lets another process decide: the resident if one runs, else a child of its
own. Whatever happens to that process, including a crash, a kill or a time-out, this one answers. It
runs for every tool call, so it imports almost nothing: modules that the interpreter has loaded
anyway, and a few small modules of Bylaw that follow the same rule.
"""

from __future__ import annotations

import os
import select
import time

from bylaw.hosts.clients.fail_closed import (
    DENIALS,
    DENY_EXIT_CODE,
    EMPTY_ANSWERS,
    STOP_NAMES,
    calling_client,
    denial,
    is_gate,
    patience_s,
    warning,
)
from bylaw.hosts.hooks.failure_state import has_failed_stops, is_over_limit, reset_failed_stops
from bylaw.hosts.hooks.resident_client import (
    ANSWER,
    FAIL_OPEN,
    FAILED,
    GO,
    TAKEN,
    build_request,
    connect,
    is_enabled,
    resident_command,
    split_message,
    unpack_answer,
    write_all,
)

TYPE_CHECKING = False  # importing `typing` is too slow here
if TYPE_CHECKING:
    import _socket


MAX_PAYLOAD = 32 << 20
MAX_ANSWER = 64 << 20
_PIECE = 1 << 16
# A healthy resident takes a request within milliseconds. The remaining time is for a child.
HAND_OVER_S = 2.0
_HAND_OVER_SHARE = 3
WAY_OUT = "see `bylaw doctor`; `bylaw doctor --release 10` releases failed gates for ten minutes"


def run(host: str, event: str) -> int:
    """Answer one hook call of a client and return the exit code."""
    begun = time.monotonic()
    data, ended = _read_payload(begun + patience_s(event))
    name = event or _event_name(data)
    if len(data) > MAX_PAYLOAD:
        return _fail(host, name, f"payload is larger than {MAX_PAYLOAD >> 20} MiB", data)
    if not ended:
        return _fail(host, name, "payload is incomplete: standard input did not end in time", data)
    if host not in DENIALS:
        return _fail(host, name, _unknown_client_text(host), data)
    said, why = _ask_process(host, name, data, begun + patience_s(name))
    opens = said.startswith(FAIL_OPEN)
    kind, body = split_message(said)
    if kind == ANSWER:
        code = _print(*unpack_answer(body))
        if name in STOP_NAMES and has_failed_stops():
            reset_failed_stops(host, name, _parse_payload(data))
        return code
    if kind == FAILED:
        why = body.decode("utf-8", "replace")
    return _fail(host, name, why or "the child process exited without an answer", data, opens=opens)


def _parse_payload(data: bytes) -> dict[str, object]:
    """Return the payload as a dict, empty if it is invalid.

    Callers read only its top-level fields: nested values may be text of an agent.
    """
    import json  # noqa: PLC0415 - slow to import, rarely needed

    try:
        found = json.loads(data, object_pairs_hook=_reject_duplicates)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _reject_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Reject duplicate fields. A payload with two event names has none and may be for a gate."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


def _event_name(data: bytes) -> str:
    """Return the event that a payload names, empty if it names none."""
    name = _parse_payload(data).get("hook_event_name")
    return name if isinstance(name, str) else ""


def _read_payload(until: float) -> tuple[bytes, bool]:
    """Read the payload from standard input. The second value is false if it did not end in time."""
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


def _ask_process(host: str, event: str, data: bytes, until: float) -> tuple[bytes, str]:
    """Let another process decide. Return its message, and why it is incomplete, if it is."""
    if is_enabled():
        answer = _ask_resident(host, event, data, until)
        if answer is not None:
            return answer
    return _ask_child(host, event, data, until)


def _ask_resident(host: str, event: str, data: bytes, until: float) -> tuple[bytes, str] | None:
    """Let the resident decide. Return None if no resident takes the request."""
    line = connect()
    if line is None:
        return None
    try:
        taken = _send_request(line, build_request(host, event, data), until)
    except OSError:
        taken = False
    said, ended = _read_message(line.fileno(), until) if taken else (b"", False)
    line.close()
    return (said, "" if ended else _timeout_text(event)) if taken else None


def _send_request(line: _socket.socket, asked: bytes, until: float) -> bool:
    """Send the request. Return whether the resident has all of it and decides.

    If not, the resident never decides this request, because it did not receive `GO`.
    """
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


def _ask_child(host: str, event: str, data: bytes, until: float) -> tuple[bytes, str]:
    from bylaw.hosts.hooks.child import run_child  # noqa: PLC0415 - not needed if a resident answers

    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        run_child(host, event, data, writing)
    os.close(writing)
    said, ended = _read_message(reading, until)
    os.close(reading)
    if split_message(said)[0]:
        return said, ""  # do not wait for the child while it closes its files
    if not ended:
        os.kill(child, 9)
    _, status = os.waitpid(child, 0)
    return said, _exit_text(status) if ended else _timeout_text(event)


def _timeout_text(event: str) -> str:
    return f"the decision took longer than {patience_s(event):g} s"


def _read_message(reading: int, until: float) -> tuple[bytes, bool]:
    """Read until the message is complete or the stream ends.

    The second value is false on time-out.
    """
    said = b""
    while not split_message(said)[0]:
        left = until - time.monotonic()
        if left <= 0 or not select.select([reading], [], [], left)[0]:
            return said, False
        piece = os.read(reading, _PIECE)
        if not piece or len(said) > MAX_ANSWER:
            return said, True
        said += piece
    return said, True


def _exit_text(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"the child process was killed by signal {os.WTERMSIG(status)}"
    return ""


def _fail(host: str, name: str, why: str, data: bytes = b"", *, opens: bool = False) -> int:
    """Deny or block at a gate, unless failures are set to allow. Report the failure in either case.

    `name` is the event. An empty name means that the event is unknown: then it may be a gate.
    """
    reason = f"bylaw failed, so nothing is allowed: {why}\n{WAY_OUT}"
    if host not in DENIALS:
        reason = f"nothing is allowed: {why}"  # not a failure: do not suggest to release gates
    closes = is_gate(host, name) and not (opens or _is_released())
    if closes and name in STOP_NAMES:
        closes = not _count_failed_stop(host, name, data, why)
    if closes:
        stdout, stderr, code = denial(host, name, reason)
        return _print(stdout.encode(), stderr.encode("utf-8", "replace"), code)
    note = f"bylaw failed, so nothing was checked: {why}"
    told = warning(host, f"{note}\n{WAY_OUT}") if name in STOP_NAMES else ""
    words = (told or EMPTY_ANSWERS.get(host, "")).encode()
    return _print(words, f"{note}\n".encode("utf-8", "replace"), 0)


def _unknown_client_text(host: str) -> str:
    from bylaw.model.display import brief, visible  # noqa: PLC0415 - same
    from bylaw.model.suggest import nearest_name  # noqa: PLC0415 - same

    near = nearest_name(host, DENIALS)
    meant = f"did you mean `{near}`? " if near else ""
    known = ", ".join(DENIALS)
    return f"unknown client `{visible(brief(host))}`; {meant}known: {known}"


def _is_released() -> bool:
    """Return whether a person has released the gates with `bylaw doctor --release`."""
    try:
        from bylaw.hosts.hooks.failure_state import release_end  # noqa: PLC0415 - rarely needed

        return bool(release_end())
    except Exception:  # noqa: BLE001 - an error here must not release a gate
        return False


def _count_failed_stop(host: str, name: str, data: bytes, why: str) -> bool:
    """Count a stop that would be blocked. Return whether it must be released after earlier blocks.

    A gate that fails must not block an agent forever.
    """
    payload = _parse_payload(data)
    rounds = payload.get("loop_count")
    again = payload.get("stop_hook_active") is True or (type(rounds) is int and rounds > 0)
    try:
        return is_over_limit(host, name, payload, why) or again
    except Exception:  # noqa: BLE001 - an error here must not release a gate
        return again


def _print(stdout: bytes, stderr: bytes, code: int) -> int:
    """Write both outputs and return the exit code.

    The client may have closed a stream. An answer that cannot be written is lost, so the exit code
    denies.
    """
    try:
        write_all(1, stdout)
    except OSError:
        code = DENY_EXIT_CODE if stdout else code
    try:
        write_all(2, stderr)
    except OSError:
        return code  # a client that closed standard error reads the JSON
    return code


def main(arguments: list[str]) -> int:
    """Run a hook with the arguments after `hook`. Invalid arguments also deny."""
    host = calling_client(arguments[0], os.environ)
    event = arguments[1] if len(arguments) > 1 else ""
    try:
        code = run(host, event)
    except Exception as wrong:  # noqa: BLE001 - a bug must not allow the event
        # The payload is lost: standard input can be read only once.
        return _fail(host, event, f"{type(wrong).__name__}: {wrong}")
    try:
        _start_resident()
    except Exception:  # noqa: BLE001 - the client already has its answer
        return code
    return code


def _start_resident() -> None:
    """Start a resident for the next hook, unless one runs. Failures are ignored."""
    if not is_enabled():
        return
    line = connect()
    if line is not None:
        line.close()
        return
    command = resident_command()
    try:
        os.posix_spawn(
            command[0], command, os.environ, file_actions=_close_inherited_files(), setsid=True
        )
    except (OSError, NotImplementedError):
        return


def _close_inherited_files() -> list[tuple[int, ...] | tuple[int, int, str, int, int]]:
    """Close all inherited files, so that no client waits for a pipe that it keeps open."""
    ours = range(3)
    silent = [(os.POSIX_SPAWN_OPEN, one, os.devnull, os.O_RDWR, 0) for one in ours]
    found = sorted(int(one) for one in os.listdir("/proc/self/fd"))  # noqa: PTH208 - slow import
    # The list has the descriptor that read it. It is closed; closing it again is harmless.
    return [*silent, *((os.POSIX_SPAWN_CLOSE, one) for one in found if one not in ours)]
