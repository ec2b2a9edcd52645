"""Files that calls name: one rule holds in every client, however it writes paths."""

import json
import subprocess

import pytest
from called_hooks import COMMAND, Repository

from bylaw.hosts.hooks.events import path_below

RULE = """<rules>
<on id="licence" event="pre_tool_call" tool="file.write" if="arg('paths.0') == 'LICENSE'">
<deny reason="the licence stays"/></on>
</rules>"""


@pytest.fixture
def repository(tmp_path):
    made = Repository(tmp_path / "root", tmp_path / "home")
    made.rules(RULE)
    made.write("src/a.py", "")
    return made


@pytest.mark.parametrize("path", ["LICENSE", "./LICENSE", "{root}/LICENSE", "src/../LICENSE"])
def test_a_rule_knows_a_file_however_it_is_written(repository, path):
    args = {"file_path": path.format(root=repository.root), "content": ""}
    call = {"tool_name": "Write", "tool_input": args, "tool_use_id": "1"}

    refused = repository.call("PreToolUse", **call)

    assert refused.code == 2
    assert "the licence stays" in refused.own["permissionDecisionReason"]


@pytest.mark.parametrize("path", ["src/LICENSE", "/elsewhere/LICENSE", "../LICENSE"])
def test_another_file_of_that_name_is_another_one(repository, path):
    call = {"tool_name": "Write", "tool_input": {"file_path": path, "content": ""}}

    assert repository.call("PreToolUse", **call).code == 0


@pytest.mark.parametrize(
    ("path", "code"),
    [("../LICENSE", 2), ("LICENSE", 0), ("../guard.chatmd", 2), ("guard.chatmd", 0)],
)
@pytest.mark.parametrize("about", [{}, {"cwd": ""}, {"cwd": "."}])
def test_an_agent_is_where_its_hook_runs_if_the_client_does_not_say(repository, path, code, about):
    """For rules and for protection alike."""
    args = {"file_path": path, "content": ""}
    payload = {**about, "session_id": "s", "tool_name": "Write", "tool_input": args}

    done = subprocess.run(
        [*COMMAND, "claude", "PreToolUse"],
        input=json.dumps(payload).encode(),
        capture_output=True,
        cwd=repository.root / "src",
        env=repository.environment,
        check=False,
    )

    assert done.returncode == code, done.stderr


def test_paths_below_a_folder(tmp_path):
    top = tmp_path.resolve()
    (top / "src").mkdir()
    (top / "link").symlink_to("src")
    found = {
        path: path_below(str(top), path, str(top / "src"))
        for path in ("a.py", "../b", f"{top}/link/c", "../link", "../..", "..", "a\0b", "x" * 9000)
    }

    assert found == {
        "a.py": "src/a.py",
        "../b": "b",
        f"{top}/link/c": "src/c",
        "../link": "link",
        "../..": "",
        "..": "",
        "a\0b": "",
        "x" * 9000: "",
    }
