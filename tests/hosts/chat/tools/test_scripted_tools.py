"""Results from a file: in order, strictly read, gone on with."""

import json
import threading
import time

import pytest

from bylaw.hosts.chat.tools.base import ToolError
from bylaw.hosts.chat.tools.declarations import MAX_MS, ScriptedTools, scripted_tools
from bylaw.model.errors import BylawError, LoadError


@pytest.fixture
def script(tmp_path):
    def write(*lines):
        path = tmp_path / "results.jsonl"
        path.write_text(
            "".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in lines)
        )
        return str(path)

    return write


def test_each_tool_has_its_own_order(script):
    tools = ScriptedTools(
        script(
            {"tool": "a", "result": 1},
            {"tool": "b", "result": "x"},
            "",
            {"tool": "a", "result": [{"é": None}]},
        )
    )
    assert tools.run("a", {}) == 1
    assert tools.run("a", {"whatever": 1}) == [{"é": None}]
    assert tools.run("b", {}) == "x"
    with pytest.raises(ToolError, match="the script has no result for `a`"):
        tools.run("a", {})
    with pytest.raises(ToolError, match="the script has no result for `c`"):
        tools.run("c", {})


def test_nothing_is_a_result(script):
    assert ScriptedTools(script({"tool": "a", "result": None})).run("a", {}) is None


def test_an_error_is_raised(script):
    tools = ScriptedTools(
        script({"tool": "a", "error": "Error: bad hunk"}, {"tool": "a", "result": "ok"})
    )
    with pytest.raises(ToolError, match="Error: bad hunk"):
        tools.run("a", {})
    assert tools.run("a", {}) == "ok"


def test_a_tool_may_take_its_time(script):
    tools = ScriptedTools(script({"tool": "a", "result": 1, "ms": 50}))
    begun = time.monotonic()
    tools.run("a", {})
    assert time.monotonic() - begun >= 0.05


def test_no_result_is_given_twice(script):
    tools = ScriptedTools(script(*({"tool": "a", "result": n} for n in range(200))))
    given = []
    threads = [
        threading.Thread(target=lambda: given.extend(tools.run("a", {}) for _ in range(20)))
        for _ in range(10)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(given) == list(range(200))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "the line is not JSON: it ends too early, column 1"),
        ('{"tool": "a", "tool": "a", "result": 1}', "duplicate key `tool`"),
        ("[]", "a result must be an object, not a list"),
        ({"result": 1}, "a result needs the field `tool`"),
        ({"tool": 1, "result": 1}, "`tool` must be a string, not a whole number"),
        ({"tool": "", "result": 1}, "`tool` is not valid"),
        ({"tool": "a"}, "`a` needs either a `result` or an `error`"),
        ({"tool": "a", "result": 1, "error": "x"}, "`a` needs either a `result` or an `error`"),
        ({"tool": "a", "error": None}, "`error` must be a string, not null"),
        ({"tool": "a", "error": {"x": 1}}, "`error` must be a string, not an object"),
        ({"tool": "a", "result": 1, "ms": -1}, "`ms` must be at least 0"),
        ({"tool": "a", "result": 1, "ms": MAX_MS + 1}, "`ms` must be at most 60000"),
        ({"tool": "a", "rsult": 1}, "a result has no field `rsult`: did you mean `result`?"),
    ],
)
def test_a_line_that_is_wrong_is_named(script, line, words):
    path = script({"tool": "a", "result": 1}, "", line)
    with pytest.raises(BylawError) as failed:
        ScriptedTools(path)
    assert str(failed.value).startswith(f"{path}:3: ")
    assert words in str(failed.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(LoadError, match="file not found"):
        ScriptedTools(str(tmp_path / "nothing"))


def test_by_name(script):
    assert scripted_tools("script:" + script({"tool": "a", "result": 1})).run("a", {}) == 1
    for named in ("script:", "results.jsonl", "openai:x", ""):
        with pytest.raises(BylawError, match="for the tools: write `script:FILE`"):
            scripted_tools(named)
