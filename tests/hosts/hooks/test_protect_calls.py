"""File tools, MCP tools and tools that nobody knows, against protected files."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bylaw.hosts.clients.base import Call
from bylaw.hosts.hooks.protect.protect import MAX_NAMED, find_protected
from bylaw.hosts.protected_paths import Protection
from bylaw.runtime.settings import ProtectSettings
from counting import steps_of

WRITE = ("file.write",)
MCP = ("mcp:files/write",)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    top = tmp_path_factory.mktemp("calls") / "top"
    (top / "rules").mkdir(parents=True)
    (top / "src").mkdir()
    for file in ("bylaw.toml", "rules/a.toml", "pyproject.toml"):
        (top / file).write_text("x = 1\n")
    (top / "link").symlink_to("rules")
    (top / "away").symlink_to("/nowhere/at/all")
    (top / "src/up").symlink_to("../.bylaw")
    return top


def found(root, args, also=WRITE, folder=None):
    call = Call(tool="T", also=also, args=args)
    kept = Protection(str(root), ProtectSettings(paths=("kept",)), (f"{root}/rules/a.toml",))
    return [one.path for one in find_protected(call, str(folder or root), kept)]


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("bylaw.toml", "bylaw.toml"),
        ("./x/../bylaw.toml", "bylaw.toml"),
        ("BYLAW.TOML", "BYLAW.TOML"),
        ("rules/a.toml", "rules/a.toml"),
        ("link/a.toml", "rules/a.toml"),
        ("src/up/state/new/file.json", ".bylaw/state/new/file.json"),
        ("src/up", ".bylaw"),
        ("kept/deep/down.txt", "kept/deep/down.txt"),
        ("sub/bylaw.toml", "sub/bylaw.toml"),
        ("file://{root}/bylaw.toml", "bylaw.toml"),
        ("{root}/bylaw.toml", "bylaw.toml"),
        (".git/hooks/pre-push", ".git/hooks/pre-push"),
        (".git/modules/one/config", ".git/modules/one/config"),
        (".cursor/hooks.json", ".cursor/hooks.json"),
    ],
)
def test_a_file_tool_must_not_write_there(root, path, told):
    assert found(root, {"paths": [path.format(root=root)]}) == [told]


@pytest.mark.parametrize(
    "path", ["src/a.py", "rules.toml", "away", ".git/index.lock", "bylaw.toml.md", "", "x\0y"]
)
def test_a_file_tool_may_write_there(root, path):
    assert found(root, {"paths": [path]}) == []


def test_paths_count_from_the_folder_of_the_call(root):
    assert found(root, {"paths": ["../bylaw.toml"]}, folder=root / "src") == ["bylaw.toml"]
    assert found(root, {"paths": ["bylaw.toml"]}, folder=root / "src") == ["src/bylaw.toml"]


def test_settings_in_a_project_count_where_they_are_written(root):
    assert found(root, {"paths": ["pyproject.toml"], "content": "[tool.ruff]"}) == []
    (told,) = found(root, {"paths": ["src/pyproject.toml"], "content": "[tool.bylaw]"})
    assert told.endswith("src/pyproject.toml")
    (root / "pyproject.toml").write_text("[tool.bylaw]\n")
    assert found(root, {"paths": ["pyproject.toml"], "content": "x"}) == ["pyproject.toml"]
    (root / "pyproject.toml").write_text("x = 1\n")


def test_tools_of_others_count_by_what_their_arguments_are_called(root):
    assert found(root, {"path": "bylaw.toml"}, MCP) == ["bylaw.toml"]
    assert found(root, {"edits": [{"file_path": "rules/a.toml"}]}, MCP) == ["rules/a.toml"]
    assert found(root, {"destination": "bylaw.toml"}, ()) == ["bylaw.toml"]
    assert found(root, {"text": "bylaw.toml"}, MCP) == []
    assert found(root, {"path": "see bylaw.toml"}, MCP) == []


def test_a_tool_of_others_may_move_files_or_be_a_shell(root):
    moved = {"source": "src/a.py", "destination": f"{root}/link/a.toml"}
    assert found(root, moved, MCP) == ["rules/a.toml"]
    assert found(root, {"uri": f"file://{root}/bylaw.toml"}, MCP) == ["bylaw.toml"]
    assert found(root, {"relative_path": "../bylaw.toml"}, MCP, root / "src") == ["bylaw.toml"]
    assert found(root, {"command": "sed -i s/a/b/ bylaw.toml"}, MCP) == ["bylaw.toml"]
    assert found(root, {"cmd": ["rm", "a.toml"], "cwd": "rules"}, ()) == ["rules/a.toml"]
    assert found(root, {"command": "cat bylaw.toml"}, MCP) == []
    assert found(root, {"script": "it's about bylaw.toml"}, MCP) == ["bylaw.toml"]


def test_a_path_of_megabytes_is_shortened_before_anybody_looks(root):
    """A client may do so; a path that stays that long leads nowhere, and costs next to nothing."""
    assert found(root, {"paths": ["x/../" * 1_000_000 + "bylaw.toml"]}) == ["bylaw.toml"]
    assert found(root, {"paths": ["x/" * 4_000_000 + "bylaw.toml"]}) == []
    # A search of every part took minutes, and a hook has 45 seconds.
    for path in ("x/../" * 100_000 + "bylaw.toml", "x/" * 400_000 + "bylaw.toml"):
        steps_of(lambda: found(root, {"paths": [path]}), most=2_000)  # noqa: B023 - runs at once


def test_more_files_than_are_looked_at_are_too_many(root):
    many = [f"src/f{number}.py" for number in range(MAX_NAMED)]
    assert found(root, {"paths": many}) == []
    assert found(root, {"paths": [*many, "src/last.py"]}) == ["src/last.py"]
    assert found(root, {"files": [{"path": one} for one in [*many, "src/last.py"]]}, MCP)


def test_however_much_else_a_call_says_its_files_count(root):
    rows = [{"id": number, "text": "x"} for number in range(20_000)]
    assert found(root, {"rows": rows}, MCP) == []
    assert found(root, {"path": "bylaw.toml", "rows": rows}, MCP) == ["bylaw.toml"]
    assert found(root, {"rows": rows, "path": "bylaw.toml"}, MCP) == ["bylaw.toml"]


def test_a_tool_that_writes_and_names_no_file_is_searched_as_others_are(root):
    assert found(root, {"target_file": "bylaw.toml", "paths": []}) == ["bylaw.toml"]
    assert found(root, {"command": "rm bylaw.toml", "paths": []}) == ["bylaw.toml"]
    assert found(root, {"target_file": "src/a.py", "paths": []}) == []


@pytest.mark.parametrize(
    "args",
    [
        {"file_path": "src/a.py", "target_file": "bylaw.toml"},
        {"file_path": {"a": "bylaw.toml"}},
        {"file_path": [{"a": ["bylaw.toml"]}]},
        {"p": "bylaw.toml"},
        {"file_path": "src/a.py", "edits": [{"where": "bylaw.toml", "new_string": "x"}]},
    ],
)
def test_a_tool_that_writes_hides_no_file_behind_another(root, args):
    assert found(root, {**args, "paths": ["src/a.py"]}) == ["bylaw.toml"]


@pytest.mark.parametrize(
    "key",
    [
        *("content", "contents", "text", "file_text", "new_string", "old_string", "new_str"),
        *("patch", "diff", "insert_text", "new_source", "code_edit", "description"),
    ],
)
def test_what_is_written_to_a_file_names_none(root, key):
    assert found(root, {"paths": ["src/a.py"], key: "bylaw.toml"}) == []
    assert found(root, {"paths": ["src/a.py"], "files": [{key: "bylaw.toml"}]}) == []


@pytest.mark.parametrize("key", ["from", "to", "src", "dst", "To"])
def test_a_tool_of_others_may_have_short_names_for_files(root, key):
    assert found(root, {"from": "x", "to": "y", key: "bylaw.toml"}, MCP) == ["bylaw.toml"]
    assert found(root, {"path": {key: "bylaw.toml"}}, MCP) == ["bylaw.toml"]
    assert found(root, {f"{key}_whom": "bylaw.toml"}, MCP) == []


def test_reading_is_free(root):
    assert found(root, {"path": "bylaw.toml", "paths": ["bylaw.toml"]}, ("file.read",)) == []
    assert found(root, {"paths": ["bylaw.toml"]}, ("web.fetch", "web.run")) == []


def test_the_state_of_the_user_is_protected(root, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert found(root, {"paths": [str(tmp_path / "state/bylaw/trust.json")]})
    assert not found(root, {"paths": [str(tmp_path / "state/other.json")]})


def spelled(path):
    """Ways to write the same path for a shell."""
    quotes = st.sampled_from(["{}", "'{}'", '"{}"', "\\{}", "''{}", '{}""'])
    case = st.sampled_from([str, str.upper, str.swapcase])
    each = [st.builds(lambda way, one, how: way.format(how(one)), quotes, st.just(one), case)
            for one in path]  # fmt: skip
    return st.tuples(*each).map("".join)


PREFIX = st.lists(
    st.sampled_from(["./", ".//", "src/../", "$PWD/", '"$PWD"/', "rules/../", "link/../"]),
    max_size=1,
).map("".join)
BEFORE = st.sampled_from(["", "true; ", "true && ", "cd . && ", "( ", "A=b ", "sudo ", "env "])
VERB = st.sampled_from(
    ["rm", "rm -f", "tee", "touch", "echo x >", "echo x >>", "mv y", "sed -i s/a/b/"]
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(before=BEFORE, verb=VERB, prefix=PREFIX, name=spelled("bylaw.toml"))
def test_no_spelling_gets_past(root, before, verb, prefix, name):
    text = f"{before}{verb} {prefix}{name}{' )' if before == '( ' else ''}"
    if before in {"A=b ", "sudo ", "env "} and ">" in verb:
        text = f"{verb} {prefix}{name}"
    assert found(root, {"command": text}, ("shell",)), text


@given(text=st.text(alphabet="ab .;|&<>(){}$`'\"\\\n*?[]#~=!-/", max_size=40))
def test_whatever_stands_there_is_answered(root, text):
    found(root, {"command": text}, ("shell",))
    assert found(root, {"command": f"rm bylaw.toml\n{text}"}, ("shell",))
