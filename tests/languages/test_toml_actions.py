"""Context and actions of TOML rules: what has no room on a page, and that the pages are complete."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from bylaw.expr.condition_environment import SHAPES
from bylaw.model.calls import MAX_WAITING
from bylaw.model.history import WINDOW
from bylaw.model.source import SourceFile
from bylaw.report.suites.reader import read_page
from bylaw.report.suites.runner import decide_files

ROOT = Path(__file__).parent.parent.parent
PAGES = ROOT / "spec" / "toml-rules"
EXAMPLES = ROOT / "examples" / "toml-rules"
DOCUMENT = ROOT / "tests" / "data" / "seeds" / "001_b4643b9acf183f99.txt"

TURN = {"kind": "turn.start"}
PATHS = [f"{name}.{field}" for name, shape in SHAPES.items() for field in shape.fields or ()]


def rule(rule_id, condition="True", action='type = "log"', trigger="on_turn_start"):
    return (
        f'[rule]\nid = "{rule_id}"\ntrigger = "{trigger}"\n\n'
        f'[condition]\nexpression = "{condition}"\n\n[action]\n{action}\n'
    )


def log(message):
    return f'type = "log"\nmessage = "{message}"'


@pytest.fixture
def decide(tmp_path, monkeypatch):
    """Decide events with the rules of these texts; every text is a file called like its id."""
    monkeypatch.chdir(tmp_path)

    def run(events, *texts):
        for text in texts:
            name = tomllib.loads(text)["rule"]["id"]
            (tmp_path / f"{name}.toml").write_text(text, encoding="utf-8")
        lines = "\n".join(json.dumps(event) for event in events)
        decided = decide_files(["."], lines.encode())
        assert decided.diagnostics == ()
        return decided.lines

    return run


def texts_of(line):
    return [effect["text"] for effect in line["effects"] if "text" in effect]


class TestWindows:
    """TR-A18: lists hold the newest 200, counters count everything."""

    def test_messages(self, decide):
        said = [{"kind": "message", "role": "user", "text": f"m{n}"} for n in range(WINDOW + 5)]
        in_window = f"len(context.history.messages) == {WINDOW} and message_count_above(204)"
        first = "{{ context.history.messages | length }} {{ context.history.messages[0].content }}"
        lines = decide(
            [*said, TURN],
            rule("seen", in_window, log(first)),
            rule("not-more", "message_count_above(205)"),
        )

        assert texts_of(lines[-1]) == [f"{WINDOW} m5"]

    def test_calls(self, decide):
        failed = [
            {"kind": "tool.after", "tool": "old", "status": "error", "result": n} for n in range(3)
        ]
        went_well = [
            {"kind": "tool.after", "tool": "read", "status": "ok", "result": n}
            for n in range(WINDOW + 2)
        ]
        in_window = (
            f"len(context.history.tools) == {WINDOW}"
            " and not any(t.name == 'old' for t in context.history.tools)"
            f" and context.history.total_tool_calls == {WINDOW + 5}"
            " and context.history.total_failures == 3"
            " and context.history.failures.old == 3 and failure_count('old') == 3"
            " and tool_failed('old') and not tool_completed('old') and tool_completed('read')"
        )
        shown = "{{ context.history.tools | length }} of {{ context.history.total_tool_calls }}"
        lines = decide([*failed, *went_well, TURN], rule("seen", in_window, log(shown)))

        assert texts_of(lines[-1]) == [f"{WINDOW} of {WINDOW + 5}"]


def test_messages_go_with_the_history(decide):
    """TR-A18: what the host threw away is no longer there."""
    said = [{"kind": "message", "role": "user", "text": f"m{n}"} for n in range(5)]
    lines = decide(
        [*said, {"kind": "history", "length": 2}, TURN],
        rule("seen", "not message_count_above(2)", log("{{ context.history.messages }}")),
    )

    (text,) = texts_of(lines[-1])
    assert "m2" not in text
    assert "m3" in text


def test_notices_that_nobody_fetches_do_not_grow_for_ever(decide):
    """TR-A23: the oldest are given up."""
    action = (
        'type = "notify_self"\nmessage = "n{{ context.turn.number }}"\ndeliver_at = "after_tool"'
    )
    result = {"kind": "tool.after", "tool": "read", "status": "ok"}
    lines = decide([TURN] * (MAX_WAITING + 1) + [result], rule("talks", "True", action))

    delivered = texts_of(lines[-1])
    assert len(delivered) == MAX_WAITING
    assert (delivered[0], delivered[-1]) == ("n2", f"n{MAX_WAITING + 1}")


def test_the_example_for_large_results_speaks(decide):
    text = (EXAMPLES / "large-result-hint.toml").read_text(encoding="utf-8")
    results = [{"kind": "tool.after", "tool": "read", "status": "ok"} for _ in range(2)]
    lines = decide(
        [{**results[0], "result": "x" * 20_000}, {**results[1], "result": "x" * 20_001}], text
    )

    assert texts_of(lines[0]) == []
    assert texts_of(lines[1])[0].startswith("`read` returned 20001 characters.")


class TestPagesAreComplete:
    def test_the_document_is_quoted_unchanged(self):
        """TR-105 to TR-111"""
        blocks = re.findall(r"(?ms)^```toml\n(.*?)^```$", DOCUMENT.read_text(encoding="utf-8"))
        page = self.page("document.md")
        quoted = [file.text for case in page.cases for file in case.files if file.word == "toml"]

        assert len(blocks) == 6
        assert [block for block in blocks if block not in quoted] == []

    @pytest.mark.parametrize("path", PATHS)
    def test_every_part_of_the_context_is_read_both_ways(self, path):
        """TR-A18"""
        rules = [
            tomllib.loads(file.text)
            for case in self.page("context.md").cases
            for file in case.files
            if file.word == "toml"
        ]
        read = re.compile(rf"\bcontext\.{re.escape(path)}\b")

        assert any(read.search(one["condition"]["expression"]) for one in rules)
        assert any(read.search(str(one["action"])) for one in rules)

    @staticmethod
    def page(name):
        path = PAGES / name
        return read_page(SourceFile.decode(path.name, path.read_bytes()))


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.stem)
def test_an_example_says_why_and_is_shown(path):
    text = path.read_text(encoding="utf-8")
    about = tomllib.loads(text)["rule"]

    assert text.startswith("# ")
    assert about["id"] == path.stem
    assert about["description"]
    assert f"({path.name})" in (EXAMPLES / "README.md").read_text(encoding="utf-8")
