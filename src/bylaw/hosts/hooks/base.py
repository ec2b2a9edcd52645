"""Types that the hook code and all clients share: hook event, tool call, hook reply, output.

    payload → read → `Heard` → (events, decisions) → `Told` → answer → `Output`

An adapter is two pure functions, `read` and `answer`, with the static data of its client.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct, field

from bylaw.model.errors import BylawError
from bylaw.model.values import JSON
from bylaw.model.vocabulary import Moment

if TYPE_CHECKING:
    from bylaw.hosts.hooks.tool_names import Sort
    from bylaw.model.vocabulary import CallStatus

Payload: TypeAlias = Mapping[str, JSON]


STOPS = (Moment.STOP, Moment.SUBAGENT_STOP)


class PayloadError(BylawError):
    """The payload does not have the form in which the client sends it."""


class Call(Struct, frozen=True, kw_only=True):
    """A tool call: `tool` is the client's name of the tool, `also` are Bylaw's names.

    `args` is what the client sent. For file tools it also has `paths`: the files that the call
    names. `status` is None before the call ran.
    """

    tool: str
    also: tuple[str, ...] = ()
    args: dict[str, JSON] = field(default_factory=dict)
    id: str = ""
    status: CallStatus | None = None
    result: JSON = None
    error: str = ""
    ms: int | None = None


class Heard(Struct, frozen=True, kw_only=True):
    """One hook event of a client.

    `name` is the client's name of the event, `session` the client's session id, `agent` the id of a
    subagent. `parent` is the session that started this one, if the client reports it. `cwd` is the
    working folder of the agent; an adapter leaves it empty if the payload has none, and
    `heard_from` fills it in. `project` is the folder that the client was started for; empty if the
    payload has none.

    `text` is the prompt, or the last text of the agent. It is None if the client does not send it;
    then the text is in the file `transcript`. `grows` means that `text` is everything said since
    the prompt; `old_text` is the part that was cut off because it is not new. `again` means that
    the agent continues because a stop was blocked.

    `unknown` lists fields that Bylaw does not know. `passed_over` means that Bylaw knows the event
    and deliberately checks nothing there.
    """

    name: str
    moment: Moment
    session: str = ""
    parent: str = ""
    cwd: str = ""
    project: str = ""
    agent: str = ""
    text: str | None = None
    grows: bool = False
    old_text: str = ""
    call: Call | None = None
    transcript: str = ""
    again: bool = False
    tokens: int | None = None
    unknown: tuple[str, ...] = ()
    passed_over: bool = False


class Told(Struct, frozen=True, kw_only=True):
    """The content of a hook reply. `reason` is not empty if `refused` or `asked` is true."""

    refused: bool = False
    asked: bool = False
    reason: str = ""
    for_model: tuple[str, ...] = ()
    for_person: tuple[str, ...] = ()


class Output(Struct, frozen=True):
    """What the hook process prints, and its exit code."""

    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0


class Adapter(Struct, frozen=True, kw_only=True):
    """One client: `moments` are the events to install hooks for, `sorts` the kinds of its tools.

    `project_variable` is the variable that the client sets for its hooks to the folder that it was
    started for. `own_sessions` means that subagents have their own sessions, and that the start of
    such a session names the session that started it.
    """

    name: str
    moments: Mapping[str, Moment]
    sorts: Mapping[str, Sort]
    project_variable: str = ""
    own_sessions: bool = False
    read: Callable[[str, Payload], Heard]
    answer: Callable[[Heard, Told], Output]
