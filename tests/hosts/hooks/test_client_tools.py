"""Tools as clients name them: their own name stays, ours stand beside it, with the files they name."""

import pytest
from client_cases import heard
from hypothesis import given
from hypothesis import strategies as st

from bylaw.hosts.clients.tools import patch_paths
from bylaw.hosts.hooks.protect.protect import find_protected
from bylaw.hosts.protected_paths import Protection
from bylaw.runtime.effects import ABILITIES
from bylaw.runtime.settings import ProtectSettings

BEFORE = {
    **dict.fromkeys(("claude", "codex", "qwen", "droid"), "PreToolUse"),
    "gemini": "BeforeTool",
    "copilot": "preToolUse",
    "opencode": "tool.execute.before",
    "cursor": "preToolUse",
}
SHELL = ("shell", "container.exec")
FETCH = ("web.fetch", "web.run")
SEARCH = ("web.search", "web.run")
PATCH = """*** Begin Patch
*** Add File: docs/new.md
+*** Update File: not/a/header.md
*** Update File: src/a b.py
*** Move to: src/c.py
@@
-x
+y
*** Delete File: old.txt
*** End Patch
"""
PATCHED = ["docs/new.md", "src/a b.py", "src/c.py", "old.txt"]
# Client, tool, arguments → our names, files.
CASES = [
    ("claude", "Bash", {"command": "ls"}, SHELL, None),
    ("claude", "Write", {"file_path": "/r/a.py", "content": ""}, ("file.write",), ["/r/a.py"]),
    ("claude", "Edit", {"file_path": "/r/a.py"}, ("file.write",), ["/r/a.py"]),
    ("claude", "NotebookEdit", {"notebook_path": "/r/n.ipynb"}, ("file.write",), ["/r/n.ipynb"]),
    ("claude", "Read", {"file_path": "/r/a.py"}, ("file.read",), ["/r/a.py"]),
    ("claude", "WebFetch", {"url": "https://a"}, FETCH, None),
    ("claude", "WebSearch", {"query": "a"}, SEARCH, None),
    ("claude", "Agent", {"prompt": "a"}, ("agent.run",), None),
    ("claude", "mcp__git__log", {}, ("mcp:git/log",), None),
    ("claude", "Skill", {}, (), None),
    ("codex", "Bash", {"command": "ls"}, SHELL, None),
    ("codex", "apply_patch", {"command": PATCH}, ("file.write",), PATCHED),
    ("codex", "web_search", {}, SEARCH, None),
    ("codex", "mcp__git__log", {}, ("mcp:git/log",), None),
    ("gemini", "run_shell_command", {"command": "ls"}, SHELL, None),
    ("gemini", "write_file", {"file_path": "a.py"}, ("file.write",), ["a.py"]),
    ("gemini", "replace", {"file_path": "a.py"}, ("file.write",), ["a.py"]),
    ("gemini", "read_file", {"file_path": "a.py"}, ("file.read",), ["a.py"]),
    ("gemini", "web_fetch", {}, FETCH, None),
    ("gemini", "google_web_search", {}, SEARCH, None),
    ("qwen", "run_shell_command", {"command": "ls"}, SHELL, None),
    ("qwen", "edit", {"file_path": "a.py"}, ("file.write",), ["a.py"]),
    ("qwen", "read_many_files", {"paths": ["a", "b"]}, ("file.read",), ["a", "b"]),
    ("copilot", "bash", {"command": "ls"}, SHELL, None),
    ("copilot", "create", {"path": "a.py", "file_text": ""}, ("file.write",), ["a.py"]),
    ("copilot", "view", {"path": "a.py"}, ("file.read",), ["a.py"]),
    ("copilot", "web_fetch", {}, FETCH, None),
    ("copilot", "my-git-log", {}, ("mcp:my/git-log", "mcp:my-git/log"), None),
    ("droid", "Execute", {"command": "ls"}, SHELL, None),
    ("droid", "Create", {"file_path": "a.py"}, ("file.write",), ["a.py"]),
    ("droid", "ApplyPatch", {"input": PATCH}, ("file.write",), PATCHED),
    ("droid", "FetchUrl", {}, FETCH, None),
    ("droid", "git___log", {}, ("mcp:git/log",), None),
    ("opencode", "bash", {"command": "ls"}, SHELL, None),
    ("opencode", "write", {"filePath": "a.py"}, ("file.write",), ["a.py"]),
    ("opencode", "patch", {"patchText": PATCH}, ("file.write",), PATCHED),
    ("opencode", "webfetch", {}, FETCH, None),
    ("opencode", "git_log", {}, ("mcp:git/log",), None),
    ("cursor", "Shell", {"command": "ls"}, SHELL, None),
    ("cursor", "Write", {"file_path": "a.py"}, ("file.write",), ["a.py"]),
    ("cursor", "Delete", {"path": "a.py"}, ("file.write",), ["a.py"]),
    ("cursor", "Read", {"file_path": "a.py"}, ("file.read",), ["a.py"]),
]


def call_of(host, tool, args):
    payload = {"tool_name": tool, "tool_input": args, "tool": tool, "args": args}
    return heard(host, BEFORE[host], payload).call


@pytest.mark.parametrize(("host", "tool", "args", "also", "paths"), CASES)
def test_a_tool_keeps_its_name_and_gets_ours(host, tool, args, also, paths):
    call = call_of(host, tool, args)

    assert (call.tool, call.also) == (tool, also)
    assert args.items() <= call.args.items()
    assert call.args.get("paths") == paths


@pytest.mark.parametrize("host", ABILITIES)
def test_every_client_has_a_shell_and_a_way_to_write(host):
    names = {name for one, _, _, also, _ in CASES if one == host for name in also}

    assert {"shell", "file.write"} <= names


def test_the_server_of_an_mcp_tool_is_told_by_its_client():
    about = {"server_name": "git", "tool_name": "log"}
    payload = {"tool_name": "mcp_git_log", "tool_input": {}, "mcp_context": about}
    gemini = heard("gemini", "BeforeTool", payload).call
    payload = {"tool_name": "log", "tool_input": '{"n": 1}', "mcp_server_name": "git"}
    cursor = heard("cursor", "beforeMCPExecution", payload).call

    assert gemini.also == ("mcp:git/log",)
    assert (cursor.tool, cursor.also, cursor.args) == ("MCP:log", ("mcp:git/log",), {"n": 1})


def test_no_argument_can_hide_the_files_that_a_call_names():
    call = call_of("claude", "Write", {"file_path": "real.py", "paths": ["other.py"]})

    assert call.args["paths"] == ["real.py", "other.py"]


def test_no_file_that_a_call_names_is_left_out():
    many = [f"f{number}" for number in range(5_000)]

    assert call_of("claude", "Write", {"paths": many}).args["paths"] == many


def test_a_patch_hides_no_file_that_is_named_beside_it(tmp_path):
    call = call_of("codex", "apply_patch", {"command": PATCH, "paths": ["bylaw.toml"]})

    assert call.args["paths"] == ["bylaw.toml", *PATCHED]
    assert find_protected(call, str(tmp_path), Protection(str(tmp_path), ProtectSettings()))


PATCHES = [
    ("codex", "apply_patch", "command"),
    ("droid", "ApplyPatch", "input"),
    ("copilot", "apply_patch", "input"),
    ("opencode", "patch", "patchText"),
]


@pytest.mark.parametrize(("host", "tool", "key"), PATCHES)
@pytest.mark.parametrize("count", [1_000, 12_000])
def test_a_protected_file_behind_many_others_is_found(host, tool, key, count, tmp_path):
    added = "".join(f"*** Add File: x/f{number}.txt\n+x\n" for number in range(count))
    patch = f"*** Begin Patch\n{added}*** Delete File: bylaw.toml\n*** End Patch\n"
    protection = Protection(str(tmp_path), ProtectSettings())

    assert find_protected(call_of(host, tool, {key: patch}), str(tmp_path), protection)


def test_a_tool_that_writes_names_a_file_by_whatever_name(tmp_path):
    protection = Protection(str(tmp_path), ProtectSettings())

    def found(args):
        return find_protected(call_of("cursor", "Edit", args), str(tmp_path), protection)

    assert found({"target_file": "bylaw.toml"})
    assert found({"edits": [{"filename": ".claude/settings.json"}]})
    assert not found({"target_file": "src/a.py", "code_edit": "bylaw.toml"})
    assert not found({"file_path": "src/a.py", "instructions": "as in bylaw.toml"})


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_patch_names_its_files(ending):
    assert list(patch_paths(PATCH.replace("\n", ending))) == PATCHED


def test_what_is_no_patch_names_nothing():
    assert list(patch_paths("*** Add File: a\n")) == []


@given(st.text())
def test_any_text_may_be_a_patch(text):
    assert all(isinstance(one, str) and one for one in patch_paths(f"*** Begin Patch\n{text}"))
