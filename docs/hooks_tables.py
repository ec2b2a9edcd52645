"""Tables of docs/hooks.md, which compare all coding agents; see tables.py.

Each client has a column here, and its own table in docs/hosts/; see hosts_tables.py.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from markdown_table import codes, table

from bylaw.hosts.clients import load_adapter
from bylaw.hosts.hooks.install.forms import CLIENTS
from bylaw.model.vocabulary import DeliverAt, HookPoint
from bylaw.runtime.effects import ABILITIES, CURSOR, NOTICE_AT, OPENCODE, AskSupport

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bylaw.runtime.effects import ClientAbilities

MOMENTS = [one for one in HookPoint if one is not HookPoint.OTHER]


def clients() -> str:
    """Return each client with its page."""
    rows = [
        [
            f"[{client.title}](hosts/{host}.md)",
            f"`bylaw install {host}`",
            or_if_there(client.places.project),
            or_if_there([f"~/{client.places.home}/{name}" for name in client.places.user]),
        ]
        for host, client in CLIENTS.items()
    ]
    return table(["Client", "Command", "`--project`", "`--user`"], rows)


def effects() -> str:
    """Return how each client supports each action."""
    rows = [
        [name, *(cell(abilities) for abilities in ABILITIES.values())]
        for name, cell in EFFECTS.items()
    ]
    return _compared(rows)


def events() -> str:
    """Return the names that each client has for the installed events."""
    rows = [
        [moment.value, *(codes(event_names(host, moment)) or "none" for host in ABILITIES)]
        for moment in MOMENTS
    ]
    return _compared(rows)


# What names the project without an environment variable, or in addition to it.
IN_PAYLOAD = {
    CURSOR: "the first of `workspace_roots`",
    OPENCODE: "the folder in which the plugin of Bylaw started",
}


def projects() -> str:
    """Return how each client reports its project folder."""
    rows = []
    for host, abilities in ABILITIES.items():
        named = [f"`{load_adapter(host).project_variable}`", IN_PAYLOAD.get(host, "")]
        said = ", else ".join(one for one in named if one.strip("`"))
        rows.append([abilities.title, said or "does not report it"])
    return table(["Client", "Reports its project folder as"], rows)


def event_names(host: str, moment: HookPoint) -> list[str]:
    """Return the events of a client for this moment."""
    if (host, moment) == (OPENCODE, HookPoint.SUBAGENT_STOP):
        moment = HookPoint.STOP  # the same event; the session tells which
    return [name for name, one in load_adapter(host).moments.items() if one is moment]


def or_if_there(names: Sequence[str]) -> str:
    """Name the files: the last one, or an earlier one if it exists."""
    *others, usual = names
    return ", or ".join([f"`{usual}`", *(f"`{name}` if it exists" for name in others)])


def _compared(rows: Sequence[Sequence[str]]) -> str:
    return table(["", *(abilities.title for abilities in ABILITIES.values())], rows)


def _asked(abilities: ClientAbilities) -> str:
    return "yes" if abilities.ask is AskSupport.PERSON else "denied instead"


def _refused(moment: HookPoint, abilities: ClientAbilities) -> str:
    return "yes" if moment in abilities.denies else "no"


def _held(moment: HookPoint, abilities: ClientAbilities) -> str:
    if moment not in abilities.hook_events:
        return "no event"
    return "yes" if moment in abilities.denies else "reported later"


def _warned(abilities: ClientAbilities) -> str:
    if HookPoint.BEFORE_TOOL in abilities.for_person:
        return "person"
    return "model" if HookPoint.BEFORE_TOOL in abilities.for_model else "model, later"


def _told(moment: HookPoint, abilities: ClientAbilities) -> str:
    if moment not in abilities.hook_events:
        return "no event"
    return "yes" if moment in abilities.for_model else "later"


def _shown(abilities: ClientAbilities) -> str:
    return "yes" if abilities.for_person else "no"


# Each action of a rule, and how a client supports it.
EFFECTS: dict[str, Callable[[ClientAbilities], str]] = {
    "deny a prompt": partial(_refused, HookPoint.PROMPT),
    "deny a call": partial(_refused, HookPoint.BEFORE_TOOL),
    "ask a person about a call": _asked,
    "block a stop": partial(_held, HookPoint.STOP),
    "block the stop of a subagent": partial(_held, HookPoint.SUBAGENT_STOP),
    "warn before a call": _warned,
    **{f"send a message to the model: {one}": partial(_told, one) for one in MOMENTS},
    "send a message to the person": _shown,
    **{
        f"deliver a notice, `{at}`": partial(_told, NOTICE_AT[at])
        for at in DeliverAt
        if at in NOTICE_AT
    },
    "deliver a notice, `immediate`": lambda _: "as a message",
}

TABLES: dict[str, Callable[[], str]] = {
    "hooks-clients": clients,
    "hooks-effects": effects,
    "hooks-events": events,
    "hooks-projects": projects,
}
