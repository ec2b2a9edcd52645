"""Which rules are switched off in a root: one small file, written whole or not at all."""

import json
import os
import subprocess
import sys
from stat import S_IMODE

import pytest

from bylaw.model.errors import BylawError, LoadError
from bylaw.store import locks, state_folder
from bylaw.store.files import MAX_INPUT_BYTES
from bylaw.store.switches import SWITCHES, disable_rule, enable_rule, read_switches
from other_user import as_somebody_else

A, B = "toml:rules/a.toml#a", "toml:rules/b.toml#b"
NOON = "2026-01-31T12:00:00+00:00"


@pytest.fixture
def root(tmp_path):
    return str(tmp_path / "root")


@pytest.fixture(autouse=True)
def folder(tmp_path):
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


def put(folder, text):
    path = folder / SWITCHES
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def mode(path):
    return S_IMODE(path.stat().st_mode)


def test_what_is_written_is_read(root, folder):
    disable_rule(root, B, NOON)
    disable_rule(root, A, NOON)

    assert read_switches(root).disabled == {A: NOON, B: NOON}
    assert json.loads((folder / SWITCHES).read_text()) == {
        "version": 1,
        "disabled": {A: {"at": NOON}, B: {"at": NOON}},
    }
    enable_rule(root, A)
    assert read_switches(root).disabled == {B: NOON}


def test_a_switch_keeps_its_time(root):
    disable_rule(root, A, NOON)
    disable_rule(root, A, "2027-01-01T00:00:00+00:00")

    assert read_switches(root).disabled == {A: NOON}


def test_without_a_file_nothing_is_off_and_nothing_is_made(root, folder):
    assert read_switches(root).disabled == {}
    assert read_switches(root).diagnostics == ()
    assert list(folder.iterdir()) == []


def test_the_folder_is_for_this_user_only_and_not_for_git(root, folder):
    before = os.umask(0)
    try:
        disable_rule(root, A, NOON)
    finally:
        os.umask(before)
    state = folder / ".bylaw/state"

    assert mode(state) == 0o700
    assert {path.name: mode(path) for path in state.iterdir()} == {
        ".gitignore": 0o600, "switches.json": 0o600, "switches.json.lock": 0o600,
    }  # fmt: skip
    assert (state / ".gitignore").read_text() == "*\n"


def test_a_folder_that_was_open_to_others_is_closed(root, folder):
    state = put(folder, '{"version": 1, "disabled": {}}').parent
    state.chmod(0o775)
    (state / ".gitignore").write_text("mine\n")
    disable_rule(root, A, NOON)

    assert (mode(state), mode(state / "switches.json")) == (0o700, 0o600)
    assert (state / ".gitignore").read_text() == "mine\n"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "broken-switches"),
        ("{", "broken-switches"),
        ("[]", "broken-switches"),
        ("null", "broken-switches"),
        ("{}", "broken-switches"),
        ('{"version": 1}', "broken-switches"),
        ('{"version": 0, "disabled": {}}', "broken-switches"),
        ('{"version": true, "disabled": {}}', "broken-switches"),
        ('{"version": "1", "disabled": {}}', "broken-switches"),
        ('{"version": 1, "disabled": {"a": {}}}', "broken-switches"),
        ('{"version": 1, "disabled": {"a": {"at": 1}}}', "broken-switches"),
        ('{"version": 1, "disabled": {"a": {"at": "", "x": 1}}}', "broken-switches"),
        ('{"version": 1, "disabled": {}, "x": 1}', "broken-switches"),
        ('{"version": 1, "version": 1, "disabled": {}}', "broken-switches"),
        ('{"version": 1, "disabled": {"\\ud800": {"at": ""}}}', "broken-switches"),
        ("[" * 100_000, "broken-switches"),
        ('{"version": 2}', "newer-switches"),
        ('{"version": 1e9, "disabled": {}}', "broken-switches"),
        (b"\xff", "not-utf8"),
        (b" " * (MAX_INPUT_BYTES + 1), "too-large"),
    ],
    ids=lambda value: repr(value[:40]),
)
def test_a_file_that_cannot_be_read_switches_nothing_off_and_is_not_written_over(
    root, folder, text, code
):
    path = put(folder, text)
    before = path.read_bytes()
    switches = read_switches(root)

    assert switches.disabled == {}
    assert [(one.code, one.source.path) for one in switches.diagnostics] == [(code, SWITCHES)]
    for change in (lambda: disable_rule(root, A, NOON), lambda: enable_rule(root, A)):
        with pytest.raises(LoadError) as refused:
            change()
        assert [one.code for one in refused.value.diagnostics] == [code]
    assert path.read_bytes() == before


@pytest.mark.parametrize("kind", ["folder", "pipe", "link", "loop"])
def test_something_else_in_its_place(root, folder, kind):
    path = put(folder, "{}")
    path.unlink()
    elsewhere = folder / "elsewhere.json"
    elsewhere.write_text('{"version": 1, "disabled": {"x": {"at": ""}}}')
    {
        "folder": path.mkdir,
        "pipe": lambda: os.mkfifo(path),
        "link": lambda: path.symlink_to(elsewhere),
        "loop": lambda: path.symlink_to(path),
    }[kind]()
    switches = read_switches(root)

    assert switches.disabled == {}
    assert [one.code for one in switches.diagnostics] == ["unreadable-file"]
    with pytest.raises(BylawError, match=r"cannot change `.bylaw/state/switches\.json`: "):
        disable_rule(root, A, NOON)
    assert elsewhere.read_text() == '{"version": 1, "disabled": {"x": {"at": ""}}}'


class TestLinks:
    @pytest.fixture
    def outside(self, tmp_path):
        (tmp_path / "outside/state").mkdir(parents=True)
        text = json.dumps({"version": 1, "disabled": {A: {"at": NOON}}})
        (tmp_path / "outside/state/switches.json").write_text(text)
        return tmp_path / "outside"

    def refused(self, root):
        switches = read_switches(root)
        assert switches.disabled == {}
        assert [one.code for one in switches.diagnostics] == ["unsafe-state-folder"]
        with pytest.raises(LoadError):
            disable_rule(root, B, NOON)

    def test_a_state_folder_that_leaves_the_root(self, root, folder, outside):
        (folder / ".bylaw").mkdir()
        (folder / ".bylaw/state").symlink_to(outside / "state")

        self.refused(root)
        assert [path.name for path in (outside / "state").iterdir()] == ["switches.json"]

    def test_a_folder_above_it_that_leaves_the_root(self, root, folder, outside):
        (folder / ".bylaw").symlink_to(outside)

        self.refused(root)
        assert [path.name for path in (outside / "state").iterdir()] == ["switches.json"]

    @pytest.mark.parametrize("to", [".", "..", "../root"])
    def test_one_that_is_the_root_itself(self, root, folder, to):
        (folder / ".bylaw").symlink_to(to)

        self.refused(root)
        assert [path.name for path in folder.iterdir()] == [".bylaw"]

    def test_one_that_leads_nowhere(self, root, folder):
        (folder / ".bylaw").mkdir()
        (folder / ".bylaw/state").symlink_to("nowhere")

        self.refused(root)

    def test_bylaw_may_be_a_link_inside_of_the_root(self, root, folder):
        (folder / "tools").mkdir()
        (folder / ".bylaw").symlink_to("tools")
        disable_rule(root, A, NOON)

        assert (folder / "tools/state/switches.json").exists()
        assert read_switches(root).disabled == {A: NOON}

    def test_the_root_may_be_behind_a_link(self, folder, tmp_path):
        (tmp_path / "alias").symlink_to(folder)
        disable_rule(str(tmp_path / "alias"), A, NOON)

        assert read_switches(str(folder)).disabled == {A: NOON}


def test_a_file_where_the_folder_should_be(root, folder):
    (folder / ".bylaw").write_text("")

    assert [one.code for one in read_switches(root).diagnostics] == ["unreadable-file"]
    with pytest.raises(BylawError, match="cannot change"):
        disable_rule(root, A, NOON)


def test_a_folder_that_cannot_be_written(root, folder):
    folder.chmod(0o555)
    try:
        with as_somebody_else(folder), pytest.raises(BylawError, match="permission denied"):
            disable_rule(root, A, NOON)
    finally:
        folder.chmod(0o700)


def test_a_name_that_is_no_text_is_refused(root):
    with pytest.raises(BylawError, match="not UTF-8"):
        disable_rule(root, "lines:\udcff.lines#line-1", NOON)
    assert read_switches(root).disabled == {}


def test_a_file_never_grows_beyond_what_can_be_read(root):
    with pytest.raises(BylawError, match="larger than"):
        disable_rule(root, "x" * MAX_INPUT_BYTES, NOON)
    assert read_switches(root).disabled == {}


def test_who_waits_too_long_is_told(root, folder, monkeypatch):
    disable_rule(root, A, NOON)
    monkeypatch.setattr(locks, "PATIENCE_S", 0.05)
    with state_folder.state_folder(root) as state, state.lock("switches.json"):  # noqa: SIM117 - the order counts
        with pytest.raises(
            BylawError, match=r"`.bylaw/state/switches\.json` is locked by another process"
        ):
            disable_rule(root, B, NOON)
    disable_rule(root, B, NOON)
    assert read_switches(root).disabled == {A: NOON, B: NOON}


WRITER = f"""
import sys
from bylaw.store.switches import disable_rule, enable_rule
_, root, number = sys.argv
for step in range(20):
    disable_rule(root, f"toml:rules/{{number}}.toml#{{step}}", {NOON!r})
    if step % 2:
        enable_rule(root, f"toml:rules/{{number}}.toml#{{step}}")
"""


def test_processes_do_not_lose_each_others_switches(root):
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, root, str(n)]) for n in range(4)]
    # Whoever reads meanwhile sees a whole file.
    while any(writer.poll() is None for writer in writers):
        assert read_switches(root).diagnostics == ()
    assert [writer.wait() for writer in writers] == [0] * 4
    assert set(read_switches(root).disabled) == {
        f"toml:rules/{number}.toml#{step}" for number in range(4) for step in range(0, 20, 2)
    }


def test_what_a_crash_left_behind_does_no_harm(root, folder):
    disable_rule(root, A, NOON)
    (folder / ".bylaw/state/switches.json.0123456789abcdef").write_text('{"version"')
    disable_rule(root, B, NOON)

    assert read_switches(root).disabled == {A: NOON, B: NOON}


def test_a_full_disk_leaves_the_old_file(root, folder, monkeypatch):
    disable_rule(root, A, NOON)
    before = (folder / SWITCHES).read_bytes()

    def full(_descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(BylawError, match="No space left"):
        disable_rule(root, B, NOON)
    monkeypatch.undo()

    assert (folder / SWITCHES).read_bytes() == before
    names = {path.name for path in (folder / ".bylaw/state").iterdir()}
    assert names == {".gitignore", "switches.json", "switches.json.lock"}
