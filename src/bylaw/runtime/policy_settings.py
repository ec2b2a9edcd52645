"""The settings of file policies in a root, from `.deepwork/config.yml` or the defaults.

A setting that cannot be used is reported, and its default is used: breaking this file disables no
policy. Unknown keys at the top level belong to other programs.
"""

from __future__ import annotations

import os
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.languages.yaml import YamlMapping, YamlScalar, load_yaml
from bylaw.languages.yaml_fields import FieldCodes, Fields, YamlFindings
from bylaw.model.codes.files import (
    MISSING_SETTING,
    NO_RULE_FILES,
    UNKNOWN_SETTING,
    UNUSABLE_SETTING,
    WRONG_SETTING,
    YAML_EMPTY,
)
from bylaw.model.codes.policies import LEGACY_POLICIES
from bylaw.model.diagnostic import Diagnostic, warning
from bylaw.model.display import brief
from bylaw.model.errors import LoadError
from bylaw.model.source import SourceFile, Span
from bylaw.model.suggest import nearest_name
from bylaw.paths import normalise
from bylaw.store.files import read_inside
from bylaw.store.paths import as_bytes, is_folder

if TYPE_CHECKING:
    from bylaw.languages.yaml import Node

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

    return read_policy_config(root)


def legacy_warning(root: str) -> list[Diagnostic]:
    """Warn if the root has a file of the old format, which is not read (DW-138)."""
    if not os.path.lexists(as_bytes(f"{root}/{LEGACY}")):
        return []
    headline = f"`{LEGACY}` is not read: policies are files in `{POLICIES_DIR}` now"
    help_ = "convert it with `bylaw policies migrate`, then remove it"
    return [warning(LEGACY_POLICIES, headline, SourceFile(LEGACY, ""), Span(0, 0), help=help_)]


POLICY_KEY = "policy"
KEYS = ("enabled", "policies_dir", "output_mode")
_CODES = FieldCodes(UNKNOWN_SETTING, MISSING_SETTING, WRONG_SETTING, UNUSABLE_SETTING)


def read_policy_config(root: str) -> PolicySettings:
    """Read the settings of a root that has the file."""
    try:
        source = read_inside(root, CONFIG)
        node = load_yaml(source)
    except LoadError as refused:
        says_nothing = [one.code for one in refused.diagnostics] == [YAML_EMPTY.name]
        return PolicySettings(findings=() if says_nothing else tuple(refused.diagnostics))
    return _settings(root, node, YamlFindings(source, _CODES))


def _settings(root: str, node: Node, findings: YamlFindings) -> PolicySettings:
    policy = _policy_fields(node, findings)
    if policy is None:
        return PolicySettings(findings=tuple(findings.told()))
    policy.closed((), KEYS)
    enabled = policy.flag("enabled")
    folder = _policies_dir(policy) or POLICIES_DIR
    is_missing = _refuse_missing(root, folder, policy)
    output_mode = policy.choice("output_mode", OutputMode)
    return PolicySettings(
        enabled=enabled is not False,
        policies_dir=POLICIES_DIR if is_missing else folder,
        output_mode=output_mode or OutputMode.BATCHED,
        findings=tuple(findings.told()),
        missing_dir=folder if is_missing else "",
    )


def _policy_fields(node: Node, findings: YamlFindings) -> Fields | None:
    """Return the mapping `policy`; None if it is missing or has no value."""
    if not isinstance(node, YamlMapping):
        headline = "this file must contain keys and values"
        help_ = f"write `{POLICY_KEY}:` with `key: value` lines below it"
        findings.refuse(WRONG_SETTING, headline, node.span, help_)
        return None
    file = Fields(node, f"`{CONFIG}`", findings)
    _refuse_misspelt(file)
    value = file.node_of(POLICY_KEY)
    empty = value is None or (isinstance(value, YamlScalar) and value.value is None)
    return None if empty else file.mapping(POLICY_KEY, "`policy`")


def _refuse_misspelt(file: Fields) -> None:
    """Report keys at the top level that look like misspelt keys of Bylaw."""
    for pair in file.node.pairs:
        name = str(pair.key.value)
        near = "" if name == POLICY_KEY else nearest_name(name, (POLICY_KEY, *KEYS))
        if near:
            written = f"`{near}:`" if near == POLICY_KEY else f"`{near}` below `{POLICY_KEY}:`"
            headline = f"unknown key `{brief(name)}` at the top of this file"
            help_ = f"did you mean {written}?"
            file.findings.refuse(UNKNOWN_SETTING, headline, pair.key.span, help_)


def _policies_dir(policy: Fields) -> str | None:
    """Return a folder inside the repository (DW-117)."""
    written = policy.text("policies_dir")
    if written is None:
        return None
    folder, span = normalise(written), policy.span("policies_dir")
    if folder is None:
        headline = f"`{brief(written)}` is not inside the repository"
        help_ = f"use a folder relative to the top of the repository, such as `{POLICIES_DIR}`"
        policy.findings.refuse(UNUSABLE_SETTING, headline, span, help_)
    return folder


def _refuse_missing(root: str, folder: str, policy: Fields) -> bool:
    """Report a missing folder; a misspelt name must not disable all policies."""
    if folder == POLICIES_DIR or is_folder(f"{root}/{folder}"):
        return False
    headline = f"folder `{brief(folder)}` not found; policies are read from `{POLICIES_DIR}`"
    help_ = "check the spelling, or create the folder"
    policy.findings.refuse(NO_RULE_FILES, headline, policy.span("policies_dir"), help_)
    return True
