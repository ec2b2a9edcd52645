"""Build the body of evidence: the message, the commands that ran, and the failure.

Evidence is complete in itself: a reader needs neither the bus nor the journal.
"""

from __future__ import annotations

from shlex import join
from typing import TYPE_CHECKING
from uuid import uuid4

from bylaw.dialects.law.messages import EVIDENCE
from bylaw.hosts.bus.messages.subjects import message_id
from bylaw.model.approvals import message_field
from bylaw.model.event import Bus, File
from bylaw.model.iso_time import iso_time
from bylaw.model.values import as_text
from bylaw.model.vocabulary import EffectStatus, Op
from bylaw.runtime.journal.reading import read_effects
from bylaw.runtime.paths import name_from, real_path

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bylaw.engine.plan import Due
    from bylaw.model.event import EffectDone, Event
    from bylaw.model.values import JSON
    from bylaw.runtime.journal.store import Journal

_OF_COMMAND = ("argv", "exit_code", "signal", "ending", "error", "isolation", "cut")


def evidence_of(event: Event, due: Due, text: str, root: str, journal: Journal) -> dict[str, JSON]:
    """The body of the evidence of a step."""
    done = list(read_effects(journal, event.session, event.seq)) if _has_commands(due) else []
    return {
        **heading(event, due.plan.rule, due.plan.uid, text),
        "commands": [_command(one, root) for one in done if one.op is Op.COMMAND_RUN],
        **_failure(done),
        **matter(event),
    }


def heading(event: Event, rule: str, uid: str, text: str) -> dict[str, JSON]:
    """The rule, its text and the time."""
    return {
        "id": str(uuid4()),
        "ts": iso_time(event.at),
        "type": EVIDENCE,
        "seq": event.seq,
        "rule": rule,
        "uid": uid,
        "text": text,
    }


def matter(event: Event) -> dict[str, JSON]:
    """The file change or the complete message that it is about (LD-035, LD-036)."""
    if isinstance(event, File):
        change: dict[str, JSON] = {
            "type": event.change.value,
            "path": event.path,
            "ts": iso_time(event.at),
            "actor_hint": event.actor.value,
        }
        return {"event": change | ({"old_path": event.old_path} if event.old_path else {})}
    if not isinstance(event, Bus):
        return {}
    return {
        "msg_id": message_id(event) or None,
        "origin_ref": message_field(event, "origin_ref"),
        "created_by": message_field(event, "created_by"),
        "file": event.file,
        "digest": event.digest,
        "message": event.message,
    }


def _has_commands(due: Due) -> bool:
    return any(step.op is Op.COMMAND_RUN for step in due.plan.steps)


def _command(effect: EffectDone, root: str) -> JSON:
    """Command, folder, exit code and both streams, which have a limited size (LD-104)."""
    said = effect.result if isinstance(effect.result, dict) else {}
    argv, cwd = said.get("argv"), as_text(said.get("cwd"))
    told: dict[str, JSON] = {
        "status": effect.status.value,
        "command": join(map(str, argv)) if isinstance(argv, list) else "",
        "cwd": name_from(real_path(root), cwd) or cwd,
    }
    told |= {key: said[key] for key in _OF_COMMAND if key in said}
    return told | {"stdout": said.get("result"), "stderr": said.get("stderr"), "ms": effect.ms}


def _failure(done: Iterable[EffectDone]) -> dict[str, JSON]:
    """The first step that failed."""
    for one in done:
        if one.status is not EffectStatus.OK:
            said = one.result.get("error") if isinstance(one.result, dict) else None
            return {"failed": {"op": one.op.value, "status": one.status.value, "error": said}}
    return {}
