"""Parse a payload, decide it, and build the client's output.

Each step raises its errors, so that a failure is never confused with a denial by a rule. `Desk`
makes the decision.
"""

from __future__ import annotations

import json
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from msgspec.structs import replace

from bylaw.hosts.hooks.base import Heard, PayloadError, Told
from bylaw.hosts.hooks.desk import Desk
from bylaw.hosts.hooks.fields import text
from bylaw.hosts.hooks.reasons import shown
from bylaw.hosts.hooks.session_names import session_name
from bylaw.hosts.hooks.subagent_sessions import in_session_of_parent
from bylaw.hosts.hooks.tool_names import refuse_lacking
from bylaw.hosts.hooks.unknown_fields import note_unknown
from bylaw.model.errors import BylawError
from bylaw.model.strict_json import JsonError, decode_utf8, read_json, without_halves
from bylaw.model.visible import visible
from bylaw.model.vocabulary import Moment
from bylaw.runtime.loading import load_root
from bylaw.runtime.paths import is_folder
from bylaw.runtime.root import absolute, read_configuration
from bylaw.runtime.settings.tables import OnFailure
from bylaw.runtime.trust import trust_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bylaw.hosts.hooks.base import Adapter, Call, Output, Payload


def heard_from(adapter: Adapter, name: str, data: bytes) -> Heard:
    """Read the hook event from a payload. Raises PayloadError if the payload is invalid."""
    written = _text(data)
    read = without_halves(written)
    payload = _payload(read)
    event = name or _named(payload)
    heard = adapter.read(event, payload)
    if read != written and heard.moment is Moment.BEFORE_TOOL:
        _refuse_halves(adapter.read(event, json.loads(written)).call, heard.call)
    if heard.call is not None and heard.moment is Moment.BEFORE_TOOL:
        refuse_lacking(heard.call.tool, heard.call.args, adapter.sorts)
    if heard.cwd and not is_folder(heard.cwd):
        raise PayloadError(f"folder `{heard.cwd}` does not exist")
    # The client starts hooks in the agent's folder, and not every payload names that folder.
    return heard if heard.cwd.startswith("/") else replace(heard, cwd=absolute(heard.cwd or "."))


def opens_on_failure(root: str) -> bool:
    """Return whether gates allow if Bylaw fails. Return False if the settings do not load."""
    try:
        configuration = read_configuration(root)
        if configuration.settings.hooks.on_failure is OnFailure.CLOSED:
            return False
        trust = trust_of(root, load_root(root), configuration)
        return trust.in_force(configuration.settings).hooks.on_failure is OnFailure.OPEN
    except BylawError:
        return False


def put_to_rules(adapter: Adapter, heard: Heard, root: str, send: Callable[[Output], None]) -> None:
    """Decide an event by the rules of a root and send the output. Raises BylawError on failure.

    The output is sent after everything is recorded and before anything is closed, so that the
    client does not wait for that.
    """
    if adapter.own_sessions:
        heard = in_session_of_parent(root, adapter.name, heard)
    if heard.moment is Moment.OTHER:
        unknown = _unknown(adapter, heard)
        send(replace(adapter.answer(heard, Told()), stderr=unknown))
        event = [f"event {heard.name}"] if unknown else []
        _keep_unknown(root, adapter, [*event, *heard.unknown])
        return
    session = session_name(adapter.name, heard.session)
    with ExitStack() as stack:
        desk = Desk(root, adapter.name, stack)
        told = desk.hear(heard, session)
        send(_with_log(adapter.answer(heard, told), desk.logged))
    _keep_unknown(root, adapter, heard.unknown)


def _keep_unknown(root: str, adapter: Adapter, unknown: Sequence[str]) -> None:
    if unknown:
        with suppress(BylawError, OSError):  # the list is for people, no rule reads it
            note_unknown(root, adapter.name, unknown)


def _with_log(output: Output, lines: list[str]) -> Output:
    """Append the log lines to standard error, after the reason of a denial."""
    logged = "".join(f"bylaw: {shown(line)}\n" for line in lines)
    return replace(output, stderr=output.stderr + logged)


def _unknown(adapter: Adapter, heard: Heard) -> str:
    if heard.passed_over:
        return ""
    known = ", ".join(adapter.moments)
    return f"bylaw: unknown event `{visible(heard.name)}`, nothing is checked; known: {known}\n"


def _refuse_halves(sent: Call | None, read: Call | None) -> None:
    """Reject a call with half of a character: what is going to run must be read exactly as it is.

    For what has already happened, U+FFFD in place of the half is good enough.
    """
    if sent != read:
        tool = visible(read.tool) if read else ""
        raise PayloadError(f"call of `{tool}` contains half of a character and cannot be read")


def _text(data: bytes) -> str:
    try:
        return decode_utf8(data)
    except JsonError as flaw:
        raise PayloadError(f"payload is not JSON: {flaw}") from None


def _payload(written: str) -> Payload:
    try:
        value = read_json(written)
    except JsonError as flaw:
        raise PayloadError(f"payload is not JSON: {flaw}") from None
    if not isinstance(value, dict):
        raise PayloadError("payload is not a JSON object")
    return value


def _named(payload: Payload) -> str:
    name = text(payload, "hook_event_name")
    if not name:
        raise PayloadError("missing event name")
    return name
