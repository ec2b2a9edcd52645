"""Read `.deepwork/config.yml`: the settings of file policies, and all mistakes in it.

A setting that cannot be used is reported, and its default is used: breaking this file disables no
policy. Unknown keys at the top level belong to other programs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.dialects.yaml import Mapping, Scalar, load_yaml
from bylaw.dialects.yaml.fields import FieldCodes, Fields, Findings
from bylaw.expr.paths import normalise
from bylaw.model.codes.books import NO_RULE_FILES
from bylaw.model.codes.configuration import (
    MISSING_SETTING,
    UNKNOWN_SETTING,
    UNUSABLE_SETTING,
    WRONG_SETTING,
)
from bylaw.model.codes.yaml import YAML_EMPTY
from bylaw.model.errors import LoadError
from bylaw.model.suggest import nearest
from bylaw.model.visible import brief
from bylaw.runtime.paths import is_folder
from bylaw.runtime.policy_settings import CONFIG, POLICIES_DIR, OutputMode, PolicySettings
from bylaw.runtime.reading import read_beneath

if TYPE_CHECKING:
    from bylaw.dialects.yaml import Node

POLICY_KEY = "policy"
KEYS = ("enabled", "policies_dir", "output_mode")
_CODES = FieldCodes(UNKNOWN_SETTING, MISSING_SETTING, WRONG_SETTING, UNUSABLE_SETTING)


def settings_in(root: str) -> PolicySettings:
    """Read the settings of a root that has the file."""
    try:
        source = read_beneath(root, CONFIG)
        node = load_yaml(source)
    except LoadError as refused:
        says_nothing = [one.code for one in refused.diagnostics] == [YAML_EMPTY.name]
        return PolicySettings(findings=() if says_nothing else tuple(refused.diagnostics))
    return _settings(root, node, Findings(source, _CODES))


def _settings(root: str, node: Node, findings: Findings) -> PolicySettings:
    policy = _policy(node, findings)
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


def _policy(node: Node, findings: Findings) -> Fields | None:
    """Return the mapping `policy`; None if it is missing or has no value."""
    if not isinstance(node, Mapping):
        headline = "this file must contain keys and values"
        help_ = f"write `{POLICY_KEY}:` with `key: value` lines below it"
        findings.refuse(WRONG_SETTING, headline, node.span, help_)
        return None
    file = Fields(node, f"`{CONFIG}`", findings)
    _refuse_misspelt(file)
    value = file.node_of(POLICY_KEY)
    empty = value is None or (isinstance(value, Scalar) and value.value is None)
    return None if empty else file.mapping(POLICY_KEY, "`policy`")


def _refuse_misspelt(file: Fields) -> None:
    """Report keys at the top level that look like misspelt keys of Bylaw."""
    for pair in file.node.pairs:
        name = str(pair.key.value)
        near = "" if name == POLICY_KEY else nearest(name, (POLICY_KEY, *KEYS))
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
