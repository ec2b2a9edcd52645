"""The page of RULE_DSL names everything that its lists are closed with, and no other limits."""

import re
from pathlib import Path

import pytest

from bylaw.hosts.bus.folders import FOLDERS
from bylaw.hosts.bus.message_file import MAX_MESSAGE_BYTES, PATIENCE_S, QUIET_S
from bylaw.hosts.bus.recovery import RECOVERY_RULE as INTERRUPTED
from bylaw.languages.law import messages
from bylaw.languages.law.action_reader import ACTION_KEYS, MOST_TIMEOUT, WHITELIST
from bylaw.languages.law.built_in import LEADING_RULES, PROCEDURE
from bylaw.languages.law.reader import (
    GUARD_KEYS,
    MATCH_KEYS,
    OPTIONAL_KEYS,
    REQUIRED_KEYS,
    read_rules,
)
from bylaw.languages.law.shared_context import read_approvals
from bylaw.languages.law.syntax import VERSION, Category, CommandType, Field, TriggerKind
from bylaw.model.rule import ApprovalMode
from bylaw.model.source import SourceFile
from bylaw.model.vocabulary import ActorHint, Authority, Change
from bylaw.runtime.sandbox.request import MAX_OUTPUT

PAGE = (Path(__file__).parents[2] / "docs" / "law.md").read_text()
PROSE = re.sub(r"^```.*?^```$", "", PAGE, flags=re.MULTILINE | re.DOTALL)
# What stands in backticks, and each part of a path of keys.
NAMED = {
    part
    for code in re.findall(r"`([^`]+)`", PROSE)
    for part in (code, *code.split("."), *re.split(r"[ :,]+", code))
}


@pytest.mark.parametrize(
    "names",
    [
        pytest.param([*REQUIRED_KEYS[:2], *OPTIONAL_KEYS[1:]], id="keys of a rule"),
        pytest.param(MATCH_KEYS, id="match"),
        pytest.param(GUARD_KEYS, id="guards"),
        pytest.param(
            [*ACTION_KEYS, *(key for keys in ACTION_KEYS.values() for key in keys)], id="actions"
        ),
        pytest.param(messages._KEYS, id="keys of a message"),
        pytest.param(Field, id="fields of templates"),
        pytest.param(WHITELIST, id="programs"),
        pytest.param([*TriggerKind, *CommandType, *Category, *ApprovalMode], id="words"),
        pytest.param([*Change, *Authority], id="changes and authorities"),
        pytest.param(
            [rule.id for rule in (*LEADING_RULES, *PROCEDURE.closing)], id="rules of its own"
        ),
        pytest.param([INTERRUPTED, *FOLDERS, *ActorHint], id="bus and watcher"),
    ],
)
def test_every_name_is_explained(names):
    assert {str(name) for name in names} - NAMED == set()


def test_its_rule_is_right():
    [text] = re.findall(r"^```law \S+\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    [rule], findings = read_rules(SourceFile("rule.yaml", text))

    assert (rule.rule_id, findings) == ("deploy", [])


def test_its_lines_approve_and_take_back():
    msg_id = "20240116_120000_cursor_x"
    lines = [code.replace("\\|", "|") for code in re.findall(r"`([^`]*MSG_ID[^`]* [^`]*)`", PROSE)]
    listed, *markers = [one.replace("MSG_ID", msg_id) for one in lines if "bylaw" not in one]
    text = "\n".join(["## Active Approvals", listed, listed.replace("[x]", "[~]"), *markers])

    told = [(one.msg_id, one.authority) for one in read_approvals(text)]
    assert told == [(msg_id, "human")] * 4
    assert [one.state for one in read_approvals(f"## Active Approvals\n{listed}")] == ["granted"]


def test_numbers_are_those_of_the_code():
    for told in (
        f'dsl_version: "{VERSION}"',
        f"1 to {MOST_TIMEOUT}",
        f"{MAX_MESSAGE_BYTES // 1024} KiB",
        f"{MAX_OUTPUT // 1024} KiB",
        f"{QUIET_S * 1000:.0f} ms",
        f"{PATIENCE_S:.0f} seconds",
    ):
        assert told in PAGE
