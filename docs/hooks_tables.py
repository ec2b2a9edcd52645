"""The tables of hooks → those of docs/hooks.md, see tables.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.hosts.hooks.adapters import adapter_named
from bylaw.hosts.hooks.install.clients import CLIENTS
from bylaw.hosts.hooks.shape import Call, Heard, Told
from bylaw.model.vocabulary import DeliverAt, Moment
from bylaw.runtime.effects import NOTICE_AT, SPEECH, Ask

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from bylaw.runtime.effects import Speech

REASON = "no shell here\n(rule no-shell, guard.chatmd:2)"
TEXT = "Keep it short."


def effects() -> str:
    """What becomes of each effect in each client."""
    rows = [
        _row("refuse a prompt", lambda one: _yes(Moment.PROMPT in one.denies)),
        _row("refuse a call", lambda one: _yes(Moment.BEFORE_TOOL in one.denies)),
        _row("ask a person about a call", lambda one: _asked(one.ask)),
        _row("block a stop", lambda one: _held(Moment.STOP, one)),
        _row("block the stop of a subagent", lambda one: _held(Moment.SUBAGENT_STOP, one)),
        _row("warn before a call", _warned),
        *(
            _row(f"text for the model: {one}", lambda speech, one=one: _told(one, speech))
            for one in Moment
            if one is not Moment.OTHER
        ),
        _row("text for the person", lambda one: _yes(bool(one.for_person))),
        *(
            _row(f"notice, `{at}`", lambda speech, at=at: _told(NOTICE_AT[at], speech))
            for at in DeliverAt
            if at in NOTICE_AT
        ),
        _row("notice, `immediate`", lambda _: "as a text"),
    ]
    return _table(["", *(speech.title for speech in SPEECH.values())], rows)


def events() -> str:
    """What each client calls the events that we are installed for."""
    moments = [one for one in Moment if one is not Moment.OTHER]
    rows = []
    for moment in moments:
        cells = [_names(host, moment) for host in SPEECH]
        rows.append([moment.value, *cells])
    return _table(["", *(speech.title for speech in SPEECH.values())], rows)


def places() -> str:
    """Where the hooks stand, and what is left for a person."""
    rows = [
        [
            client.title,
            f"`bylaw install {host}`",
            ", ".join(f"`{name}`" for name in reversed(client.project)),
            ", ".join(f"`~/{client.home}/{name}`" for name in reversed(client.user)),
            "; ".join([*client.in_project, *client.steps]) or "nothing",
        ]
        for host, client in CLIENTS.items()
    ]
    head = ["Client", "Command", "`--project`", "`--user`", "What a person has to do then"]
    return _table(head, rows)


def answers() -> str:
    """One refusal, one blocked stop and one text for the model in the words of each client."""
    parts = []
    for host, speech in SPEECH.items():
        parts.append(f"{speech.title}:")
        parts.append("```text\n" + "\n".join(_answers(host)) + "\n```")
    return "\n\n".join(parts) + "\n"


def _answers(host: str) -> Iterable[str]:
    refused, said = Told(refused=True, reason=REASON), Told(for_model=(TEXT,))
    shown = (
        (Moment.BEFORE_TOOL, refused),
        (Moment.STOP, refused),
        (Moment.AFTER_TOOL, said),
    )
    adapter = adapter_named(host)
    for moment, told in shown:
        if told.refused and moment not in SPEECH[host].denies:
            continue
        event = next(name for name, one in adapter.moments.items() if one is moment)
        heard = Heard(name=event, moment=moment, call=Call(tool="x"))
        output = adapter.answer(heard, told)
        yield f"{event}, exit code {output.exit_code}"
        yield f"  {output.stdout.strip()}"


def _names(host: str, moment: Moment) -> str:
    if (host, moment) == ("opencode", Moment.SUBAGENT_STOP):
        moment = Moment.STOP  # the same event, told apart by its session
    found = [f"`{name}`" for name, one in adapter_named(host).moments.items() if one is moment]
    return ", ".join(found) or "none"


def _asked(ask: Ask) -> str:
    return "yes" if ask is Ask.PERSON else "refused instead"


def _held(moment: Moment, speech: Speech) -> str:
    if moment not in speech.hears:
        return "not told of it"
    return "yes" if moment in speech.denies else "told later"


def _warned(speech: Speech) -> str:
    if Moment.BEFORE_TOOL in speech.for_person:
        return "person"
    return "model" if Moment.BEFORE_TOOL in speech.for_model else "model, later"


def _told(moment: Moment, speech: Speech) -> str:
    if moment not in speech.hears:
        return "not told of it"
    return "yes" if moment in speech.for_model else "later"


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _row(name: str, cell: Callable[[Speech], str]) -> list[str]:
    return [name, *(cell(speech) for speech in SPEECH.values())]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(_cell(one) for one in line)} |\n" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


TABLES: dict[str, Callable[[], str]] = {
    "hooks-effects": effects,
    "hooks-events": events,
    "hooks-places": places,
    "hooks-answers": answers,
}
