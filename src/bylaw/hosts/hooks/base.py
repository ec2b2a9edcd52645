"""What goes in and out of an adapter: a client's event as `Heard`, what it is told, the output.

    payload → read → Heard → (events, decisions) → Told → answer → Output

An adapter is two pure functions, `read` and `answer`, and what must be known of its client besides.
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
    """What came in is not what the client sends."""


class Call(Struct, frozen=True, kw_only=True):
    """A tool call: `tool` as the client names it, `also` as we do.

    The files that it names stand in `args` as `paths`, beside what the client sent. `status` is
    None before it ran.
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
    """One event of a client.

    `name` is what the client calls it, `session` its own id, `agent` a subagent's. `parent` is the
    session that has started this one, if the client says so. `cwd` is where the agent is:
    an adapter leaves it empty if the payload does not say, `handling` does not. `project` is the
    folder that it was started for, empty if the payload does not say.
    `text` is the prompt, or what the agent said last, None if the client does not say; then it
    stands in the file `transcript`. `grows` says that the text is all that was said since the
    prompt; `old_text` is the part of it that was cut off, as it is not new. `again` says that the
    agent goes on because a stop was blocked.
    `unknown` are fields that we do not know; `passed_over` says that we know the event, and that
    nothing is judged there with intent.
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
    """What a client is to be told: `reason` is never empty where it is refused or asked."""

    refused: bool = False
    asked: bool = False
    reason: str = ""
    for_model: tuple[str, ...] = ()
    for_person: tuple[str, ...] = ()


class Output(Struct, frozen=True):
    """What our process prints and how it ends."""

    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0


class Adapter(Struct, frozen=True, kw_only=True):
    """One client: `moments` are the events that we install for, `sorts` its tools, by their names.

    `project_variable` is set by the client for its hooks, to the folder that it was started for.
    `own_sessions` says that subagents have sessions of their own, whose start names the other one.
    """

    name: str
    moments: Mapping[str, Moment]
    sorts: Mapping[str, Sort]
    project_variable: str = ""
    own_sessions: bool = False
    read: Callable[[str, Payload], Heard]
    answer: Callable[[Heard, Told], Output]
