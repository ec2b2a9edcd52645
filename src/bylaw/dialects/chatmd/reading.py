"""A ChatMD file with its imports → rules and policies as written, and all findings."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bylaw.dialects.chatmd.declarations import read_declarations
from bylaw.dialects.chatmd.elements import ElementReader
from bylaw.dialects.chatmd.imports import expanded
from bylaw.dialects.chatmd.placing import Places
from bylaw.dialects.chatmd.policy_reader import read_policies
from bylaw.dialects.chatmd.rules_reader import read_rules, read_settings
from bylaw.dialects.chatmd.syntax.once import parse_once
from bylaw.dialects.chatmd.whole_messages import check_messages
from bylaw.dialects.chatmd.written import WrittenFile
from bylaw.model.findings import FindingList

if TYPE_CHECKING:
    from bylaw.dialects.base import RuleFile
    from bylaw.dialects.chatmd.declarations import Declarations
    from bylaw.dialects.chatmd.imports import Placed


class Reading(NamedTuple):
    """The content of a file, the findings so far, and the places of its parts."""

    written: WrittenFile
    declared: Declarations
    findings: FindingList
    places: Places


def read_file(file: RuleFile) -> Reading:
    """Read everything except expressions, which are checked when rules are lowered."""
    document, found = parse_once(file.source)
    placed, wrong_imports = expanded(document, file.beside)
    declared, wrong_tools = read_declarations(placed)
    wrong_messages = check_messages(placed)
    findings = FindingList([*found, *wrong_imports, *wrong_tools, *wrong_messages])
    written = _written(placed, findings)
    return Reading(written, declared, findings, Places(document, placed))


def _written(placed: list[Placed], findings: FindingList) -> WrittenFile:
    def blocks(name: str) -> list[ElementReader]:
        return [ElementReader(findings, *one) for one in placed if one[0].name == name]

    rules = blocks("rules")
    settings = read_settings(rules)
    return WrittenFile(
        rules=tuple(read_rules(rules)),
        constraints=tuple(read_policies(blocks("policy"))),
        max_actions=settings.max_actions,
        max_calls=settings.max_calls,
        trace=settings.trace,
    )
