"""Find the root whose rules apply to a hook event.

An agent can change its folder, and must not choose its rules that way: a folder below the root may
have settings or a repository of its own. So Bylaw uses the project folder that the client names, in
a variable or in the payload. If a client does not name it, Bylaw remembers the root of the
session's first event. It keeps that in the user's state folder, not in the repository. This root
applies to everything that the session does inside it. Outside of it, and without a session, the
root of the folder in the payload applies.

Unknown payload fields and events, kept in the state folder of a root for `bylaw doctor`.

A new field or event may contain something that rules should see. It is not a failure.

Parse a payload, decide it, and build the client's output.

Each step raises its errors, so that a failure is never confused with a denial by a rule. `Desk`
makes the decision.

The steps of the child in order: read the payload, find the root, decide, reply.

`judging` calls it; the steps are in `handling`. An error that is meant for people becomes a reply
here. `judging` catches all others.
"""

from __future__ import annotations

import json
import os
from contextlib import ExitStack, suppress
from hashlib import sha256
from time import sleep
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from bylaw.hosts.clients import load_adapter
from bylaw.hosts.clients.base import HookEvent, HookReply, PayloadError
from bylaw.hosts.clients.fields import text
from bylaw.hosts.clients.tools import require_arguments
from bylaw.hosts.hooks.notes import session_name, to_main_session
from bylaw.hosts.hooks.session import HookSession, visible_lines
from bylaw.model.display import clip_text, visible
from bylaw.model.errors import BylawError, LoadError
from bylaw.model.values import JsonError, decode_utf8, read_json, replace_lone_surrogates
from bylaw.model.vocabulary import HookPoint
from bylaw.runtime.loader import load_root
from bylaw.runtime.root import find_root, read_configuration
from bylaw.runtime.settings import OnFailure
from bylaw.runtime.trust import check_trust
from bylaw.store.files import absolute
from bylaw.store.paths import (
    STATE_BASE,
    as_bytes,
    as_text,
    is_folder,
    is_inside,
    is_safe_place,
    named_folder,
    real_path,
)
from bylaw.store.state_folder import existing_state_folder, state_folder
from bylaw.store.user_state import read_user_file, write_cache_file

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bylaw.hosts.clients.base import Adapter, Call, Output, Payload
    from bylaw.hosts.hooks.resident_client import ReplyWriter

SESSIONS_FOLDER = "sessions"
MAX_PATH = 4096
MAX_REMEMBERED = 2_000  # sessions; the oldest are removed


def event_root(adapter: Adapter, heard: HookEvent) -> str:
    """Return the root of an event. Raises LoadError if there is none."""
    project = _project_folder(adapter, heard)
    if project:
        return find_root(project)
    found = find_root(heard.cwd)
    folder = named_folder(STATE_BASE)
    if not heard.session or not folder:
        return found
    session = session_name(adapter.name, heard.session).encode("utf-8", "backslashreplace")
    return _session_root(
        f"{folder}/{SESSIONS_FOLDER}", sha256(session).hexdigest()[:32], heard.cwd, found
    )


def _project_folder(adapter: Adapter, heard: HookEvent) -> str:
    """Return the project folder that the client names, if it exists; else the empty text."""
    named = os.environb.get(adapter.project_variable.encode(), b"")
    for folder in (as_text(named), heard.project):
        if folder.startswith("/") and "\0" not in folder and is_folder(folder):
            return folder
    return ""


def _session_root(folder: str, name: str, here: str, found: str) -> str:
    """Return the root of the session's first event if `here` is inside it, else `found`."""
    first = as_text(read_user_file(folder, name, MAX_PATH))
    if not first:
        if is_safe_place(STATE_BASE, found):
            write_cache_file(folder, name, as_bytes(found), ("", MAX_REMEMBERED))
        return found
    # Do not trust a path that the repository itself could have written.
    if not is_folder(first) or not is_safe_place(STATE_BASE, first):
        return found
    place = absolute(here)
    inside = is_inside(place, first) or is_inside(real_path(place), real_path(first))
    return find_root(first) if inside else found


UNKNOWN_FIELDS_FILE = "hook-fields.json"
MAX_FIELDS = 100  # per client
MAX_FIELD_NAME = 80  # characters
MAX_UNKNOWN_BYTES = 1 << 20


def note_unknown(root: str, host: str, fields: Sequence[str]) -> None:
    """Add the names that are not in the list yet."""
    named = {clip_text(visible(one), MAX_FIELD_NAME) for one in fields}
    if named <= set(read_unknown(root).get(host, ())):
        return
    with state_folder(root) as folder, folder.lock(UNKNOWN_FIELDS_FILE):
        noted = _decode_unknown(folder.read(UNKNOWN_FIELDS_FILE, MAX_UNKNOWN_BYTES))
        before = noted.get(host, [])
        noted[host] = [*before, *sorted(named - set(before))][:MAX_FIELDS]
        if noted[host] != before:
            folder.write(UNKNOWN_FIELDS_FILE, msgspec.json.encode(noted), lasting=False)


def read_unknown(root: str) -> Mapping[str, Sequence[str]]:
    """Return the names that were noted in a root, by client."""
    with existing_state_folder(root) as folder:
        return (
            {}
            if folder is None
            else _decode_unknown(folder.read(UNKNOWN_FIELDS_FILE, MAX_UNKNOWN_BYTES))
        )


def _decode_unknown(data: bytes | None) -> dict[str, list[str]]:
    try:
        return {} if data is None else msgspec.json.decode(data, type=dict[str, list[str]])
    except msgspec.MsgspecError:
        return {}  # the list is only for people, and it fills again


def read_event(adapter: Adapter, name: str, data: bytes) -> HookEvent:
    """Read the hook event from a payload. Raises PayloadError if the payload is invalid."""
    written = _decode(data)
    read = replace_lone_surrogates(written)
    payload = _parse_payload(read)
    event = name or _event_name(payload)
    heard = adapter.read(event, payload)
    if read != written and heard.moment is HookPoint.BEFORE_TOOL:
        _reject_half_characters(adapter.read(event, json.loads(written)).call, heard.call)
    if heard.call is not None and heard.moment is HookPoint.BEFORE_TOOL:
        require_arguments(heard.call.tool, heard.call.args, adapter.tool_kinds)
    if heard.cwd and not is_folder(heard.cwd):
        raise PayloadError(f"folder `{heard.cwd}` does not exist")
    # The client starts hooks in the agent's folder, and not every payload names that folder.
    return heard if heard.cwd.startswith("/") else replace(heard, cwd=absolute(heard.cwd or "."))


def allows_on_failure(root: str) -> bool:
    """Return whether gates allow if Bylaw fails. Return False if the settings do not load."""
    try:
        configuration = read_configuration(root)
        if configuration.settings.hooks.on_failure is OnFailure.CLOSED:
            return False
        trust = check_trust(root, load_root(root), configuration)
        return trust.in_force(configuration.settings).hooks.on_failure is OnFailure.OPEN
    except BylawError:
        return False


def decide_event(
    adapter: Adapter, heard: HookEvent, root: str, send: Callable[[Output], None]
) -> None:
    """Decide an event by the rules of a root and send the output. Raises BylawError on failure.

    The output is sent after everything is recorded and before anything is closed, so that the
    client does not wait for that.
    """
    if adapter.own_sessions:
        heard = to_main_session(root, adapter.name, heard)
    if heard.moment is HookPoint.OTHER:
        unknown = _unknown_event_text(adapter, heard)
        send(replace(adapter.answer(heard, HookReply()), stderr=unknown))
        event = [f"event {heard.name}"] if unknown else []
        _note_unknown_fields(root, adapter, [*event, *heard.unknown])
        return
    session = session_name(adapter.name, heard.session)
    with ExitStack() as stack:
        desk = HookSession(root, adapter.name, stack)
        told = desk.hear(heard, session)
        send(_add_log_lines(adapter.answer(heard, told), desk.log_lines))
    _note_unknown_fields(root, adapter, heard.unknown)


def _note_unknown_fields(root: str, adapter: Adapter, unknown: Sequence[str]) -> None:
    if unknown:
        with suppress(BylawError, OSError):  # the list is for people, no rule reads it
            note_unknown(root, adapter.name, unknown)


def _add_log_lines(output: Output, lines: list[str]) -> Output:
    """Append the log lines to standard error, after the reason of a denial."""
    logged = "".join(f"bylaw: {visible_lines(line)}\n" for line in lines)
    return replace(output, stderr=output.stderr + logged)


def _unknown_event_text(adapter: Adapter, heard: HookEvent) -> str:
    if heard.passed_over:
        return ""
    known = ", ".join(adapter.moments)
    return f"bylaw: unknown event `{visible(heard.name)}`, nothing is checked; known: {known}\n"


def _reject_half_characters(sent: Call | None, read: Call | None) -> None:
    """Reject a call with half of a character: what is going to run must be read exactly as it is.

    For what has already happened, U+FFFD in place of the half is good enough.
    """
    if sent != read:
        tool = visible(read.tool) if read else ""
        raise PayloadError(f"call of `{tool}` contains half of a character and cannot be read")


def _decode(data: bytes) -> str:
    try:
        return decode_utf8(data)
    except JsonError as flaw:
        raise PayloadError(f"payload is not JSON: {flaw}") from None


def _parse_payload(written: str) -> Payload:
    try:
        value = read_json(written)
    except JsonError as flaw:
        raise PayloadError(f"payload is not JSON: {flaw}") from None
    if not isinstance(value, dict):
        raise PayloadError("payload is not a JSON object")
    return value


def _event_name(payload: Payload) -> str:
    name = text(payload, "hook_event_name")
    if not name:
        raise PayloadError("missing event name")
    return name


def handle_payload(
    host: str, event: str, data: bytes, reply: ReplyWriter, linger_s: float = 0
) -> None:
    """Decide an event. Send the answer for the client, or the reason why there is none.

    After that, keep the journal open for `linger_s`. As long as a process has the journal open, its
    write-ahead log does not have to be created again, which costs more than all the rest.
    """

    def send(output: Output) -> None:
        reply.give(output)
        sleep(linger_s)

    adapter = load_adapter(host)
    try:
        heard = read_event(adapter, event, data)
        root = event_root(adapter, heard)
        if allows_on_failure(root):
            reply.allow_on_failure()
        decide_event(adapter, heard, root, send)
    except BylawError as problem:
        reply.fail(_error_text(problem))


def _error_text(problem: BylawError) -> str:
    if not isinstance(problem, LoadError) or not problem.diagnostics:
        return str(problem)
    first = problem.diagnostics[0]
    line = first.source.position(first.span.start).line
    return f"{first.source.path}:{line}: {first.headline}"
