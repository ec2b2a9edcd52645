"""Every code a diagnostic or an evaluation error can have, with its page in docs/diagnostics.

A module here holds the codes of one part of Bylaw. A code is stable: it is never renamed.
"""

from __future__ import annotations

from msgspec import Struct


class Example(Struct, frozen=True):
    """A text that provokes the code. `kind` says which reader is asked, see docs/provoke.py."""

    kind: str
    text: str
    facts: str = "{}"


class Code(Struct, frozen=True):
    """A kebab-case name, what it means, why Bylaw says so, how to mend it."""

    name: str
    summary: str
    why: str
    fix: str
    example: Example
