"""Diagnostics → text in one of four formats. A printer is a pure function, the order is ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.tools.printers import github, json, sarif, text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bylaw.model.diagnostic import Diagnostic

PRINTERS: dict[str, Callable[[Sequence[Diagnostic]], str]] = {
    "text": text.render,
    "json": json.render,
    "github": github.render,
    "sarif": sarif.render,
}
