"""The settings of file policies in a root, with or without a `.deepwork/config.yml`."""

from __future__ import annotations

import os
from enum import StrEnum

from msgspec import Struct

from bylaw.model.codes.policy_files import LEGACY_POLICIES
from bylaw.model.diagnostic import Diagnostic, warning
from bylaw.model.source import SourceFile, Span
from bylaw.runtime.paths import as_bytes

CONFIG = ".deepwork/config.yml"
POLICIES_DIR = ".deepwork/policies"
TRANSIENT = ".deepwork/tmp"  # files that the policies write
LEGACY = ".deepwork.policy.yml"


class OutputMode(StrEnum):
    """How policies are shown to an agent: all in one text, or one at a time."""

    BATCHED = "batched"
    INDIVIDUAL = "individual"


class PolicySettings(Struct, frozen=True):
    """The active settings, and the mistakes in the file; the defaults if there is no file.

    `missing_dir` is a configured folder that does not exist; the default folder is used then.
    """

    enabled: bool = True
    policies_dir: str = POLICIES_DIR
    output_mode: OutputMode = OutputMode.BATCHED
    findings: tuple[Diagnostic, ...] = ()
    missing_dir: str = ""


def read_policy_settings(root: str) -> PolicySettings:
    """Return the settings of a root (DW-116…119)."""
    if not os.path.lexists(as_bytes(f"{root}/{CONFIG}")):
        return PolicySettings()
    from bylaw.runtime.policy_config import settings_in  # noqa: PLC0415 - importing YAML is slow

    return settings_in(root)


def legacy_warning(root: str) -> list[Diagnostic]:
    """Warn if the root has a file of the old format, which is not read (DW-138)."""
    if not os.path.lexists(as_bytes(f"{root}/{LEGACY}")):
        return []
    headline = f"`{LEGACY}` is not read: policies are files in `{POLICIES_DIR}` now"
    help_ = "convert it with `bylaw policies migrate`, then remove it"
    return [warning(LEGACY_POLICIES, headline, SourceFile(LEGACY, ""), Span(0, 0), help=help_)]
