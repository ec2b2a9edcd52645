"""`{{field}}` in a text → pieces, filled in once from a closed list of fields (LD-A20)."""

from __future__ import annotations

import re
from enum import StrEnum

from msgspec import Struct

FIELD = re.compile(r"\{\{[ \t]*([^{}]*?)[ \t]*\}\}")


class Field(StrEnum):
    """All fields that a template can use."""

    MSG_ID = "msg_id"
    MSG_TYPE = "msg_type"
    COMMAND_TYPE = "command_type"
    PHASE = "phase"
    CATEGORY = "category"
    TITLE = "title"
    TARGET_PATHS = "target_paths"
    ORIGIN_REF = "origin_ref"
    CREATED_BY = "created_by"
    NOTES = "notes"
    RULE_ID = "rule_id"
    TS = "ts"
    PATH = "path"
    TYPE = "type"
    EXIT_CODE = "exit_code"
    ERROR = "error"


# Known only after the previous steps have run.
OF_OUTCOMES = frozenset({Field.EXIT_CODE, Field.ERROR})


class Named(Struct, frozen=True):
    """A field as written. An unknown field fails its action (LD-105)."""

    name: str

    @property
    def field(self) -> Field | None:
        """The field; None if it is unknown."""
        return next((one for one in Field if one.value == self.name), None)


class Template(Struct, frozen=True):
    """Texts and fields in turn."""

    pieces: tuple[str | Named, ...]

    @property
    def names(self) -> tuple[Named, ...]:
        """The fields in it."""
        return tuple(piece for piece in self.pieces if isinstance(piece, Named))


def parse_template(text: str) -> Template:
    """Parse a template. Every text is one: all but `{{field}}` is literal."""
    pieces: list[str | Named] = []
    end = 0
    for found in FIELD.finditer(text):
        if found.start() > end:
            pieces.append(text[end : found.start()])
        pieces.append(Named(found[1]))
        end = found.end()
    if end < len(text) or not pieces:
        pieces.append(text[end:])
    return Template(tuple(pieces))
