"""Every code of a diagnostic or an evaluation error, with the text of its page in docs/diagnostics.

A module here has the codes of one part of Bylaw. A code is stable: it is never renamed.
"""

from __future__ import annotations

from msgspec import Struct


class Example(Struct, frozen=True):
    """A text that provokes the code. `kind` selects the reader, see docs/provoke.py."""

    kind: str
    text: str
    facts: str = "{}"


class Code(Struct, frozen=True):
    """A kebab-case name, what it means, why Bylaw reports it, how to fix it."""

    name: str
    summary: str
    why: str
    fix: str
    example: Example
