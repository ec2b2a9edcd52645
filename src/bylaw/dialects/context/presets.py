"""The presets of the language: names → checks, exactly as its document lists them."""

from __future__ import annotations

from bylaw.dialects.context.declared import Check, CheckType

_FORBID, _REQUIRE, _BLOCK = CheckType.FORBID_TOOL, CheckType.REQUIRE_TOOL, CheckType.FORBID_BLOCK

PRESETS: dict[str, tuple[Check, ...]] = {
    "no_browsing": (Check(_FORBID, "web.run"),),
    "no_code_execution": (
        Check(_FORBID, "python.exec"),
        Check(_FORBID, "python_user_visible.exec"),
        Check(_FORBID, "container.exec"),
    ),
    "require_code_execution": (Check(_REQUIRE, "python.exec"),),
    "no_file_output": (
        Check(_BLOCK, "FILE"),
        Check(_BLOCK, "ARTIFACT"),
        Check(_BLOCK, "DOWNLOAD"),
        Check(_FORBID, "python_user_visible.exec"),
        Check(_FORBID, "container.download"),
    ),
}
