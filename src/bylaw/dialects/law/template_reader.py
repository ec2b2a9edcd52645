"""The templates and lock names of an action → templates, and findings about their fields."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bylaw.dialects.law.templates import FIELD, OF_OUTCOMES, Field, Template, parse_template
from bylaw.dialects.law.written import MAX_LOCK_KEY, TriggerKind
from bylaw.model.codes import law as codes
from bylaw.model.source import Span
from bylaw.model.suggest import did_you_mean
from bylaw.model.visible import brief

if TYPE_CHECKING:
    from bylaw.dialects.yaml.fields import Fields
    from bylaw.dialects.yaml.nodes import Scalar

OF_FILE_EVENTS = frozenset({Field.PATH, Field.TYPE})
OF_MESSAGES = frozenset(
    {
        *(Field.MSG_ID, Field.MSG_TYPE, Field.COMMAND_TYPE, Field.CATEGORY, Field.TITLE),
        *(Field.TARGET_PATHS, Field.ORIGIN_REF, Field.CREATED_BY, Field.NOTES),
    }
)
_WITHOUT_VALUE = {
    TriggerKind.BUS_INPUT: (OF_FILE_EVENTS, "a message has no"),
    TriggerKind.FS_EVENT: (OF_MESSAGES, "a file event has no"),
}
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_.-]*")
_GRAMMAR = f"write letters, digits, `_`, `.` and `-`, at most {MAX_LOCK_KEY}, and fields"


def read_template(fields: Fields, key: str, kind: TriggerKind | None) -> Template | None:
    """Read the template of a key."""
    node = fields.scalar(key)
    if node is None:
        return None
    _check_fields(fields, node, kind)
    return parse_template(str(node.value))


def read_lock_key(fields: Fields, kind: TriggerKind | None) -> Template | None:
    """Read the template of a lock name (LD-094, LD-A40)."""
    node, findings = fields.scalar("lock_key"), fields.findings
    if node is None:
        return None
    made = read_template(fields, "lock_key", kind)
    assert made is not None, "`lock_key` is a text"
    literal = "".join(piece for piece in made.pieces if isinstance(piece, str))
    if not str(node.value) or not _PLAIN_NAME.fullmatch(literal) or len(literal) > MAX_LOCK_KEY:
        headline = f"invalid lock name `{brief(str(node.value))}`"
        findings.refuse(codes.LAW_LOCK_KEY, headline, node.span, _GRAMMAR)
        return None
    return made


def _check_fields(fields: Fields, node: Scalar, kind: TriggerKind | None) -> None:
    for found in FIELD.finditer(str(node.value)):
        name, span = found[1], fields.findings.place(node, Span(*found.span()))
        if name not in _NAMES:
            headline = f"unknown template field `{brief(name)}`: the action fails when it runs"
            help_ = did_you_mean(name, _NAMES)
            fields.findings.doubt(codes.LAW_UNKNOWN_FIELD, headline, span, help_)
        else:
            _check_value(fields, Field(name), span, kind)


_NAMES = frozenset(field.value for field in Field)


def _check_value(fields: Fields, field: Field, span: Span, kind: TriggerKind | None) -> None:
    if field in OF_OUTCOMES and fields.has("lock_key"):
        headline = f"`{field}` is not known when a lock is taken or released"
        help_ = "use `{{msg_id}}`, or a plain name"
        fields.findings.refuse(codes.LAW_LOCK_KEY, headline, span, help_)
        return
    absent, who = _WITHOUT_VALUE[kind] if kind else (frozenset(), "")
    if field in absent:
        headline = f"{who} `{field}`"
        help_ = "known here: " + ", ".join(f"`{one}`" for one in Field if one not in absent)
        fields.findings.doubt(codes.LAW_FIELD_WITHOUT_VALUE, headline, span, help_)
