"""All coding agents → the tables of docs/hooks.md, which compare them; see tables.py.

What one of them has is a column here, and a table of its own in docs/hosts/; see hosts_tables.py.
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
    """Each client with its page."""
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
    """What becomes of each effect in each client."""
    rows = [
        [name, *(cell(abilities) for abilities in ABILITIES.values())]
        for name, cell in EFFECTS.items()
    ]
    return _compared(rows)


def events() -> str:
    """What each client calls the events that we are installed for."""
    rows = [
        [moment.value, *(codes(event_names(host, moment)) or "none" for host in ABILITIES)]
        for moment in MOMENTS
    ]
    return _compared(rows)


# What names the project where there is no variable for it, or beside it.
IN_PAYLOAD = {
    CURSOR: "the first of `workspace_roots`",
    OPENCODE: "the folder in which our plugin was started",
}


def projects() -> str:
    """How each client says where its project lies."""
    rows = []
    for host, abilities in ABILITIES.items():
        named = [f"`{load_adapter(host).project_variable}`", IN_PAYLOAD.get(host, "")]
        said = ", else ".join(one for one in named if one.strip("`"))
        rows.append([abilities.title, said or "it does not say"])
    return table(["Client", "Says where its project lies"], rows)


def event_names(host: str, moment: HookPoint) -> list[str]:
    """The events of a client that mean this moment."""
    if (host, moment) == (OPENCODE, HookPoint.SUBAGENT_STOP):
        moment = HookPoint.STOP  # the same event, told apart by its session
    return [name for name, one in load_adapter(host).moments.items() if one is moment]


def or_if_there(names: Sequence[str]) -> str:
    """Files of which the first that exists is meant, else the last one."""
    *others, usual = names
    return ", or ".join([f"`{usual}`", *(f"`{name}` if it is there" for name in others)])


def _compared(rows: Sequence[Sequence[str]]) -> str:
    return table(["", *(abilities.title for abilities in ABILITIES.values())], rows)


def _asked(abilities: ClientAbilities) -> str:
    return "yes" if abilities.ask is AskSupport.PERSON else "refused instead"


def _refused(moment: HookPoint, abilities: ClientAbilities) -> str:
    return "yes" if moment in abilities.denies else "no"


def _held(moment: HookPoint, abilities: ClientAbilities) -> str:
    if moment not in abilities.hook_events:
        return "not told of it"
    return "yes" if moment in abilities.denies else "told later"


def _warned(abilities: ClientAbilities) -> str:
    if HookPoint.BEFORE_TOOL in abilities.for_person:
        return "person"
    return "model" if HookPoint.BEFORE_TOOL in abilities.for_model else "model, later"


def _told(moment: HookPoint, abilities: ClientAbilities) -> str:
    if moment not in abilities.hook_events:
        return "not told of it"
    return "yes" if moment in abilities.for_model else "later"


def _shown(abilities: ClientAbilities) -> str:
    return "yes" if abilities.for_person else "no"


# What a rule may want of a client → what becomes of it there.
EFFECTS: dict[str, Callable[[ClientAbilities], str]] = {
    "refuse a prompt": partial(_refused, HookPoint.PROMPT),
    "refuse a call": partial(_refused, HookPoint.BEFORE_TOOL),
    "ask a person about a call": _asked,
    "block a stop": partial(_held, HookPoint.STOP),
    "block the stop of a subagent": partial(_held, HookPoint.SUBAGENT_STOP),
    "warn before a call": _warned,
    **{f"text for the model: {one}": partial(_told, one) for one in MOMENTS},
    "text for the person": _shown,
    **{f"notice, `{at}`": partial(_told, NOTICE_AT[at]) for at in DeliverAt if at in NOTICE_AT},
    "notice, `immediate`": lambda _: "as a text",
}

TABLES: dict[str, Callable[[], str]] = {
    "hooks-clients": clients,
    "hooks-effects": effects,
    "hooks-events": events,
    "hooks-projects": projects,
}
