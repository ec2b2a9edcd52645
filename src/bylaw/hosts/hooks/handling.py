"""The steps of `worker`: bytes → `Heard`; what a failure means at a root; `Heard` → `Output`.

Each raises what goes wrong, so that it is told apart from what a rule refuses. What rules say is
found out by the `Desk`.
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
    """What a client says; PayloadError if that cannot be read."""
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
        raise PayloadError(f"the folder `{heard.cwd}` is not there")
    # Hooks run where the agent is, which not every payload says.
    return heard if heard.cwd.startswith("/") else replace(heard, cwd=absolute(heard.cwd or "."))


def opens_on_failure(root: str) -> bool:
    """Whether gates stay open when Bylaw fails; settings that do not load say nothing."""
    try:
        configuration = read_configuration(root)
        if configuration.settings.hooks.on_failure is OnFailure.CLOSED:
            return False
        trust = trust_of(root, load_root(root), configuration)
        return trust.in_force(configuration.settings).hooks.on_failure is OnFailure.OPEN
    except BylawError:
        return False


def put_to_rules(adapter: Adapter, heard: Heard, root: str, send: Callable[[Output], None]) -> None:
    """Send what the rules of a root say to an event; BylawError if they cannot be asked.

    It is sent when everything is recorded and before everything is closed: nobody has to wait for
    that.
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
        with suppress(BylawError, OSError):  # a list for people, of which no rule knows
            note_unknown(root, adapter.name, unknown)


def _with_log(output: Output, lines: list[str]) -> Output:
    """A log goes where people look for one, behind the reason of a refusal."""
    logged = "".join(f"bylaw: {shown(line)}\n" for line in lines)
    return replace(output, stderr=output.stderr + logged)


def _unknown(adapter: Adapter, heard: Heard) -> str:
    if heard.passed_over:
        return ""
    known = ", ".join(adapter.moments)
    return f"bylaw: nothing is checked at `{visible(heard.name)}`; it knows {known}\n"


def _refuse_halves(sent: Call | None, read: Call | None) -> None:
    """What has happened is judged as it can be read; what is to happen must be read as it is."""
    if sent != read:
        tool = visible(read.tool) if read else ""
        raise PayloadError(f"the call of `{tool}` holds half of a character, so nobody can read it")


def _text(data: bytes) -> str:
    try:
        return decode_utf8(data)
    except JsonError as flaw:
        raise PayloadError(f"the payload is not JSON: {flaw}") from None


def _payload(written: str) -> Payload:
    try:
        value = read_json(written)
    except JsonError as flaw:
        raise PayloadError(f"the payload is not JSON: {flaw}") from None
    if not isinstance(value, dict):
        raise PayloadError("the payload is no JSON object")
    return value


def _named(payload: Payload) -> str:
    name = text(payload, "hook_event_name")
    if not name:
        raise PayloadError("no event is named")
    return name
