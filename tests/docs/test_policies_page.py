"""The page of file policies names everything that its lists are closed with, and no other limits."""

import re
from pathlib import Path

import click
import pytest

from bylaw.cli.policies import policies_command
from bylaw.languages.file_policies.evaluation import has_promise, promise_tag
from bylaw.languages.file_policies.key_readers import FILE, FILES, MAX_PATTERNS, REPO_ROOT
from bylaw.languages.file_policies.reader import read_policy
from bylaw.languages.file_policies.syntax import (
    EXPECTED_FILES,
    KEYS,
    MAX_NAMED,
    TRIGGER_FILE,
    TRIGGER_FILES,
    CompareTo,
    Mode,
    RunFor,
)
from bylaw.model.effects import PromptShow
from bylaw.model.source import SourceFile
from bylaw.model.vocabulary import EntryStatus
from bylaw.report import policy_files
from bylaw.runtime import policy_settings
from bylaw.runtime.sandbox.request import MAX_OUTPUT
from bylaw.runtime.settings import CommandSettings, StopSettings
from bylaw.worktree.baselines import Baseline
from bylaw.worktree.entry import ActionResult, QueueEntry
from bylaw.worktree.folders import SUMMARY_PATH
from bylaw.worktree.policies import SESSION
from bylaw.worktree.stop_message import MAX_LINES, batch_message

PAGE = (Path(__file__).parents[2] / "docs" / "policies.md").read_text()
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
        pytest.param(KEYS, id="keys of a policy"),
        pytest.param([*Mode, *CompareTo, *RunFor], id="words"),
        pytest.param(["command", "run_for", "trigger", "expects"], id="keys of mappings"),
        pytest.param([FILE, FILES, REPO_ROOT], id="placeholders of commands"),
        pytest.param([TRIGGER_FILE, TRIGGER_FILES, EXPECTED_FILES], id="placeholders of bodies"),
        pytest.param(EntryStatus, id="states"),
        pytest.param(QueueEntry.__struct_fields__, id="keys of an entry"),
        pytest.param(ActionResult.__struct_fields__, id="keys of a result"),
        pytest.param(Baseline.__struct_fields__, id="keys of a baseline"),
        pytest.param(policy_settings.KEYS, id="settings"),
        pytest.param([*policy_settings.OutputMode, policy_settings.LEGACY], id="output modes"),
        pytest.param([*policy_files.REQUIRED_KEYS, *policy_files.OPTIONAL_KEYS], id="former keys"),
        pytest.param([SUMMARY_PATH, SESSION, policy_settings.POLICIES_DIR], id="places"),
    ],
)
def test_every_name_is_explained(names):
    assert {str(name) for name in names} - NAMED == set()


def test_every_verb_is_listed():
    with click.Context(policies_command) as context:
        verbs = policies_command.list_commands(context)
    assert {f"bylaw policies {verb}" for verb in verbs} - NAMED == set()


def test_its_policy_is_right():
    [text] = re.findall(r"^```markdown\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    policy, findings = read_policy(SourceFile("tests.md", text))

    assert (policy.mode, policy.title, findings) == (Mode.SET, "Source/Test Pairing", [])


def test_its_output_is_right():
    [text] = re.findall(r"^```text\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    pairs = (
        ("src/auth/login.py", "tests/auth/login_test.py"),
        ("src/api/users.py", "tests/api/users_test.py"),
    )
    body = "Source files changed. Verify README.md is accurate.\n"
    shown = [
        PromptShow(policy="readme", title="README Accuracy", mode="trigger", text=body),
        PromptShow(policy="z", title="Source/Test Pairing", mode="set", text="", arrows=pairs),
    ]
    assert batch_message(shown) == text


def test_its_promise_is_one():
    assert promise_tag("NAME") in NAMED
    assert has_promise("<promise>✓ name</promise>", ["NAME"])


def test_the_extension_is_marked():
    [line] = [line for line in PAGE.split("\n") if line.startswith(f"| `{Mode.CREATED}`")]
    assert "**an extension**" in line


def test_numbers_are_those_of_the_code():
    for told in (
        f"at most {MAX_PATTERNS} patterns",
        f"beyond {MAX_NAMED} counted",
        f"Beyond {MAX_LINES}\nlines",
        f"{CommandSettings().timeout_s} seconds",
        f"`[stop] max_blocks` times ({StopSettings().max_blocks})",
        f"{MAX_OUTPUT // 1024} KiB",
    ):
        assert told in PAGE
