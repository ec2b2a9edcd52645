"""The error payload, which is the whole output of its turn (AC-126 to AC-134, AC-A25)."""

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
# Everything that YAML 1.1 or 1.2 would not read as a text is quoted.
_PLAIN = re.compile(r"(?!(?i:null|true|false|yes|no|on|off|y|n)$)[A-Za-z_][A-Za-z0-9_.-]*")
# A payload must not contain a fence or a table, even if a message quotes one (AC-134).
_HIDDEN = str.maketrans({"`": "\\u0060", "|": "\\u007c"})


class Payload(Struct, frozen=True, kw_only=True):
    """The parts of an error payload. Empty parts are left out."""

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
        """Return the payload of an error in the document itself."""
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
        """Return the header line and then YAML, with nothing around them."""
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
    """Quote a text on one line, so that YAML and JSON read it alike."""
    plain = text.replace("`", "'")
    return visible_in_json(json.dumps(plain, ensure_ascii=False)).translate(_HIDDEN)


# Two errors that have in common only what every error contains.
SAMPLES = (
    Payload(code="CONFLICT", message="").text(),
    Payload(code="UNKNOWN_ID", message="there is none", id="x", hint="write it").text(),
)
_FORM = re.compile(
    rf'{HEADER}\ncode: [A-Z_]+\nmessage: "[^\n]*"\ndetails:(?: {{}}|(?:\n  [a-z_]+: [^\n]+)+)'
    r'(?:\nhint: "[^\n]*")?'
)


def is_payload(text: str) -> bool:
    """Return whether a text is exactly one payload, with no other text before, in or after it."""
    return _FORM.fullmatch(text) is not None
