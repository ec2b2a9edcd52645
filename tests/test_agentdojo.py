"""What examples/agentdojo/README.md reports is what a replay gives, and its rules are fair."""

import json
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "examples" / "agentdojo"
TASKS = [json.loads(line) for line in (FOLDER / "tasks.jsonl").read_text("utf-8").splitlines()]
RULES = [
    *FOLDER.glob("policies/*.chatmd"),
    *FOLDER.glob("notices/*.toml"),
    FOLDER / "protocol.md",
]


def texts(value):
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from texts(part)
    elif isinstance(value, str):
        yield value


def test_tables_are_what_a_replay_gives():
    command = [sys.executable, str(FOLDER / "replay.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    page = (FOLDER / "README.md").read_text("utf-8")
    for table in done.stdout.strip().split("\n\n"):
        assert table in page


def test_no_call_of_a_user_is_denied():
    page = (FOLDER / "README.md").read_text("utf-8").splitlines()
    first = page.index("| suite | user tasks | calls | denied | noticed |") + 2
    rows = [[cell.strip() for cell in row.split("|")] for row in page[first : first + 4]]
    assert [row[1] for row in rows] == ["banking", "slack", "travel", "workspace"]
    assert [row[4] for row in rows] == ["0"] * 4


def test_no_rule_names_what_only_injections_name():
    of_users = json.dumps([task for task in TASKS if task["kind"] == "user"])
    injected = {
        text
        for task in TASKS
        if task["kind"] == "injection"
        for call in task["calls"]
        for text in texts(call["args"])
        if text and json.dumps(text)[1:-1] not in of_users
    }
    assert "US133000000121212121212" in injected
    rules = {path.name: path.read_text("utf-8") for path in RULES}
    assert len(rules) == 9
    named = [(name, text) for text in injected for name, rule in rules.items() if text in rule]
    assert named == []
