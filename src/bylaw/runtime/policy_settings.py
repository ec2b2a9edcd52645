"""What counts for file policies in a root, whether or not it has a `.deepwork/config.yml`."""

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
TRANSIENT = ".deepwork/tmp"  # what policies keep for themselves
LEGACY = ".deepwork.policy.yml"


class OutputMode(StrEnum):
    """How an agent is told of policies: all in one text, or each on its own."""

    BATCHED = "batched"
    INDIVIDUAL = "individual"


class PolicySettings(Struct, frozen=True):
    """The settings in force, and what is wrong with the file; without a file, the defaults.

    `missing_dir` is a folder that was named and is not there: then the default counts.
    """

    enabled: bool = True
    policies_dir: str = POLICIES_DIR
    output_mode: OutputMode = OutputMode.BATCHED
    findings: tuple[Diagnostic, ...] = ()
    missing_dir: str = ""


def read_policy_settings(root: str) -> PolicySettings:
    """The settings of a root (DW-116…119)."""
    if not os.path.lexists(as_bytes(f"{root}/{CONFIG}")):
        return PolicySettings()
    from bylaw.runtime.policy_config import settings_in  # noqa: PLC0415 - YAML is heavy

    return settings_in(root)


def legacy_warning(root: str) -> list[Diagnostic]:
    """That a file of the former system is not read, if there is one (DW-138)."""
    if not os.path.lexists(as_bytes(f"{root}/{LEGACY}")):
        return []
    headline = f"`{LEGACY}` is not read: policies are files in `{POLICIES_DIR}` now"
    help_ = "convert it with `bylaw policies migrate`, then remove it"
    return [warning(LEGACY_POLICIES, headline, SourceFile(LEGACY, ""), Span(0, 0), help=help_)]
