"""A template and an event → the text. Inserted values are not parsed again (LD-A20)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.dialects.law.templates import Field, Named
from bylaw.expr.paths import normalise_named
from bylaw.model.approvals import message_field
from bylaw.model.codes.law import LAW_UNKNOWN_FIELD
from bylaw.model.codes.templates import RENDER_TOO_LARGE
from bylaw.model.effects import Outcome, OutcomePart
from bylaw.model.errors import RenderError
from bylaw.model.event import File
from bylaw.model.fact_paths import shown_path
from bylaw.model.iso_time import iso_time
from bylaw.model.values import as_text
from bylaw.model.visible import brief, visible

if TYPE_CHECKING:
    from bylaw.dialects.law.templates import Template
    from bylaw.model.effects import Text
    from bylaw.model.rule import View
    from bylaw.model.values import JSON

MAX_FILLED = 500_000  # characters

_OUTCOMES = {Field.EXIT_CODE: OutcomePart.EXIT_CODE, Field.ERROR: OutcomePart.ERROR}


def filled(template: Template, rule_id: str, view: View) -> Text:
    """Return the text for this event; raise RenderError for an unknown field or a long text."""
    pieces = [_piece(piece, rule_id, view) for piece in template.pieces]
    if sum(len(piece) for piece in pieces if isinstance(piece, str)) > MAX_FILLED:
        reason = f"the text is longer than {MAX_FILLED:,} characters"
        raise RenderError(RENDER_TOO_LARGE.name, reason)
    if any(isinstance(piece, Outcome) for piece in pieces):
        return tuple(pieces)
    return "".join(piece for piece in pieces if isinstance(piece, str))


def _piece(piece: str | Named, rule_id: str, view: View) -> str | Outcome:
    if isinstance(piece, str):
        return piece
    field = piece.field
    if field is None:
        reason = f"unknown template field `{visible(brief(piece.name))}`"
        raise RenderError(LAW_UNKNOWN_FIELD.name, reason)
    return Outcome(_OUTCOMES[field]) if field in _OUTCOMES else _value(field, rule_id, view)


def _value(field: Field, rule_id: str, view: View) -> str:
    """Return the value of a field; empty if this kind of event does not have it."""
    event = view.event
    match field:
        case Field.RULE_ID:
            return rule_id
        case Field.TS:
            return iso_time(view.now)
        case Field.PATH:
            return _path(event) if isinstance(event, File) else ""
        case Field.TYPE:
            return event.change.value if isinstance(event, File) else ""
        case Field.PHASE if isinstance(event, File):
            return str(event.facts.phase) if isinstance(event.facts.phase, int) else ""
        case Field.TARGET_PATHS:
            return _joined(message_field(event, field.value))
    return as_text(message_field(event, field.value))


def _path(event: File) -> str:
    """Return the path of a file. Unusual characters are escaped, so that it stays on one line."""
    if event.facts.literal:
        return shown_path(event.path)
    return normalise_named(event.path, literal=False) or ""


def _joined(targets: JSON) -> str:
    return ", ".join(map(as_text, targets)) if isinstance(targets, list) else as_text(targets)
