"""An error → the fixed payload that is the whole output of its turn (AC-126 to AC-134, AC-A25)."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.model.visible import visible_in_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.dialects.context.problems import Problem

HEADER = "ERROR: ai-context-language"
ERROR_RESPONSE = "ai_context_error"  # the response that an error uses
# What YAML 1.1 or 1.2 would not read as a text stands in quotes.
_PLAIN = re.compile(r"(?!(?i:null|true|false|yes|no|on|off|y|n)$)[A-Za-z_][A-Za-z0-9_.-]*")
# Neither a fence nor a table, whatever a message quotes (AC-134).
_HIDDEN = str.maketrans({"`": "\\u0060", "|": "\\u007c"})


class Payload(Struct, frozen=True, kw_only=True):
    """What an error says; what is empty is left out."""

    code: str
    message: str
    block_type: str = ""
    id: str = ""
    line: int = 0
    responses: tuple[str, ...] = ()
    workflows: tuple[str, ...] = ()
    candidates: tuple[str, ...] = ()
    hint: str = ""

    @classmethod
    def of(cls, problem: Problem) -> Payload:
        """The payload of an error of the document itself."""
        place = problem.place
        return cls(
            code=problem.code.name,
            message=problem.message,
            block_type=place.block_type,
            id=place.id,
            line=place.line,
            candidates=problem.candidates,
            hint=problem.hint,
        )

    def text(self) -> str:
        """The header line, then YAML, and nothing else."""
        lines = [HEADER, f"code: {self.code}", f"message: {_quoted(self.message)}"]
        details = list(self._details())
        lines += ["details:", *details] if details else ["details: {}"]
        lines += [f"hint: {_quoted(self.hint)}"] if self.hint else []
        return "\n".join(lines)

    def _details(self) -> Iterator[str]:
        if self.block_type:
            yield f"  block_type: {self.block_type}"
        if self.id:
            yield f"  id: {_word(self.id)}"
        if self.line:
            yield f"  line: {self.line}"
        for key in ("responses", "workflows", "candidates"):
            names = getattr(self, key)
            if names:
                yield f"  {key}: [{', '.join(map(_word, names))}]"


def _word(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else _quoted(text)


def _quoted(text: str) -> str:
    """As YAML and JSON both read it, on one line."""
    plain = text.replace("`", "'")
    return visible_in_json(json.dumps(plain, ensure_ascii=False)).translate(_HIDDEN)


# They have in common what every error holds, and no more.
SAMPLES = (
    Payload(code="CONFLICT", message="").text(),
    Payload(code="UNKNOWN_ID", message="there is none", id="x", hint="write it").text(),
)
_FORM = re.compile(
    rf'{HEADER}\ncode: [A-Z_]+\nmessage: "[^\n]*"\ndetails:(?: {{}}|(?:\n  [a-z_]+: [^\n]+)+)'
    r'(?:\nhint: "[^\n]*")?'
)


def is_payload(text: str) -> bool:
    """Whether a text has the form of a payload, with nothing before, between or behind."""
    return _FORM.fullmatch(text) is not None
