"""Trust in books and settings: given by a person, kept outside of the repository, lost by a change."""

import json
import os
from stat import S_IMODE

import pytest

from bylaw.model.errors import BylawError
from bylaw.runtime.loader import load, load_paths
from bylaw.runtime.root import read_configuration
from bylaw.runtime.rule_files import discover
from bylaw.runtime.settings import CommandSettings, Settings
from bylaw.runtime.trust import Trust, TrustState, changes_since, check_trust, trust_request
from bylaw.store.trust import read_record, remove_record, save_record
from bylaw.store.user_state import user_state

NOON = "2026-01-31T12:00:00+00:00"
RUNS = "on agent.stop run make test\n"
STARTS_NOTHING = "deny tool shell because no\n"


@pytest.fixture
def root(tmp_path, monkeypatch, a_person):
    folder = tmp_path / "root"
    folder.mkdir()
    monkeypatch.chdir(folder)
    put(folder, "a.lines", RUNS)
    put(folder, "bylaw.toml", '[[book]]\npath = "a.lines"\n')
    return folder


def put(folder, name, text):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())


def asked(root):
    configuration = read_configuration(str(root))
    return load(discover(str(root), configuration)), configuration


def state(root):
    return check_trust(str(root), *asked(root))


def grant(root):
    save_record(str(root), trust_request(*asked(root)).granted(str(root), NOON))


def record_file(folder):
    (found,) = (folder / "bylaw").glob("trust-*")
    return found


def test_nobody_has_trusted_it(root):
    assert state(root) == Trust(
        TrustState.UNTRUSTED, "no person has trusted it yet; see `bylaw trust`"
    )
    assert not state(root).given


def test_what_was_trusted_is_trusted(root):
    grant(root)

    assert state(root) == Trust(TrustState.TRUSTED, "a person has trusted it")
    assert remove_record(str(root))
    assert state(root).state is TrustState.UNTRUSTED
    assert not remove_record(str(root))


def test_what_starts_nothing_needs_no_trust(root):
    put(root, "a.lines", STARTS_NOTHING)
    put(root, "bylaw.toml", '[[book]]\npath = "a.lines"\n[command]\nallow = ["npm"]\n')

    assert state(root).state is TrustState.NOT_NEEDED
    assert state(root).is_sufficient


def test_trust_for_one_run():
    assert Trust.for_one_run().given
    assert Trust.for_one_run().state is TrustState.ONE_RUN


@pytest.mark.parametrize(
    ("name", "text", "changed"),
    [
        ("a.lines", RUNS + "on session.end run make clean\n", "lines:a.lines"),
        ("a.lines", "# a comment\n" + RUNS, "lines:a.lines"),
        ("a.lines", RUNS.replace("test", "tset"), "lines:a.lines"),
        ("bylaw.toml", '[[book]]\npath = "a.lines"\n[command]\nroots = ["."]\n', "[command] roots"),
        ("bylaw.toml", '[[book]]\npath = "a.lines"\n[stop]\nmax_blocks = 9\n', "[stop] max_blocks"),
        ("bylaw.toml", '[[book]]\npath = "a.lines"\n[model]\nbase_url = "https://x.org"\n', "[model] base_url"),
    ],
)  # fmt: skip
def test_whatever_changes_is_untrusted_again(root, name, text, changed):
    grant(root)
    put(root, name, text)

    assert state(root) == Trust(
        TrustState.CHANGED, f"`{changed}` changed since it was trusted; see `bylaw trust`"
    )
    grant(root)
    assert state(root).given


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("bylaw.toml", 'discover = false\n[[book]]\npath = "a.lines"\n'),
        ("bylaw.toml", '[[book]]\npath = "a.lines"\n[journal]\nkeep_days = 3\n'),
        ("bylaw.toml", '[[book]]\npath = "a.lines"\n[command]\ntimeout_s = 60\n'),
        ("notes.md", "hello"),
    ],
)
def test_what_nobody_has_to_trust_may_change(root, name, text):
    grant(root)
    put(root, name, text)

    assert state(root).given


def test_a_second_book_that_starts_something(root):
    put(root, "bylaw.toml", '[[book]]\npath = "a.lines"\n[[book]]\npath = "b.lines"\n')
    put(root, "b.lines", STARTS_NOTHING)
    grant(root)
    put(root, "b.lines", RUNS)

    assert state(root).state is TrustState.CHANGED


def test_what_changed_is_told(root):
    put(root, "bylaw.toml", '[[book]]\npath = "a.lines"\n[command]\nenv = ["A"]\ntimeout_s = 9\n')
    grant(root)
    put(root, "a.lines", RUNS.replace("test", "tset") + "on session.end run make test\n")
    put(
        root,
        "bylaw.toml",
        '[[book]]\npath = "a.lines"\n[command]\ntimeout_s = 10\n[law]\nbus = "b"\n',
    )
    changes = changes_since(read_record(str(root)), trust_request(*asked(root)))

    assert [(one.name, one.uid) for one in changes.new] == [
        ("make test", "lines:a.lines#line-2"),
        ("make tset", "lines:a.lines#line-1"),
    ]
    assert [(one.name, one.uid) for one in changes.gone] == [("make test", "lines:a.lines#line-1")]
    assert changes.books == ("lines:a.lines",)
    assert changes.settings == ("[command] env", "[command] timeout_s", "[law] bus")


def test_the_trust_of_one_root_is_not_that_of_another(root, tmp_path):
    grant(root)
    other = tmp_path / "other"
    put(other, "a.lines", RUNS)
    put(other, "bylaw.toml", (root / "bylaw.toml").read_text())

    assert state(root).given
    assert state(other).state is TrustState.UNTRUSTED


def test_a_root_by_another_name_is_the_same(root, tmp_path):
    grant(root)
    (tmp_path / "link").symlink_to(root)

    assert state(tmp_path / "link").state is TrustState.TRUSTED


def test_a_root_that_moved_is_another(root, tmp_path):
    grant(root)
    root.rename(tmp_path / "moved")

    assert state(tmp_path / "moved").state is TrustState.UNTRUSTED


@pytest.mark.parametrize("state", TrustState)
def test_nothing_starts_where_nobody_was_asked(state):
    trust = Trust(state, "")

    assert trust.given is (state in {TrustState.TRUSTED, TrustState.ONE_RUN})
    assert trust.is_sufficient is (trust.given or state is TrustState.NOT_NEEDED)
    with pytest.raises(TypeError, match="`given`"):
        bool(trust)


def test_files_that_a_person_gave_are_trusted_as_the_book_is(root):
    grant(root)
    configuration = read_configuration(str(root))

    assert check_trust(str(root), load_paths(["a.lines"]), configuration).given
    put(root, "b.lines", RUNS)
    assert not check_trust(str(root), load_paths(["b.lines"]), configuration).given


def test_control_characters_are_visible_and_kept(root):
    put(root, "a.lines", "on agent.stop run echo \x1b[2J\u202e\u200b\n")
    grant(root)
    request = trust_request(*asked(root))

    assert [one.name for one in request.starts] == ["echo '\\u{1b}[2J\\u{202e}\\u{200b}'"]
    assert state(root).given


def test_a_name_that_is_not_utf8(root, a_person):
    (root / "a.lines").rename(root / os.fsdecode(b"\xff.lines"))
    put(root, "bylaw.toml", '[[book]]\npath = "."\ndialect = "lines"\n')
    grant(root)

    assert state(root).state is TrustState.TRUSTED
    assert "lines:\\u{dcff}.lines" in json.loads(record_file(a_person).read_text())["books"]


def test_settings_count_as_far_as_they_are_trusted():
    lax = Settings(command=CommandSettings(roots=("src",), timeout_s=5))

    assert Trust(TrustState.TRUSTED, "").in_force(lax) == lax
    assert Trust.for_one_run().in_force(lax) == lax
    for untrusted in (TrustState.UNTRUSTED, TrustState.CHANGED):
        assert Trust(untrusted, "").in_force(lax) == Settings(command=CommandSettings(timeout_s=5))


def test_the_record_is_for_this_user_alone(root, a_person):
    (a_person / "bylaw").mkdir(mode=0o777)
    (a_person / "bylaw").chmod(0o777)
    grant(root)
    record = record_file(a_person)

    assert S_IMODE(record.stat().st_mode) == 0o600
    assert S_IMODE(record.parent.stat().st_mode) == 0o700
    assert [path.name for path in record.parent.iterdir()] == [record.name]
    assert json.loads(record.read_text()).items() >= {"root": str(root), "at": NOON}.items()


def test_a_record_that_others_can_write_is_no_trust(root, a_person):
    grant(root)
    record_file(a_person).chmod(0o666)
    assert not state(root).given

    grant(root)
    assert state(root).given
    (a_person / "bylaw").chmod(0o770)
    assert not state(root).given


@pytest.mark.parametrize(
    "change", ["cut", "empty", "other root", "newer", "link", "more", "list", "digest"]
)
def test_a_record_that_cannot_be_believed_is_no_trust(root, a_person, change):
    grant(root)
    record = record_file(a_person)
    text = record.read_text()
    said = json.loads(text)
    match change:
        case "cut":
            record.write_text(text[:-10])
        case "empty":
            record.write_text("")
        case "other root":
            record.write_text(json.dumps(said | {"root": "/"}))
        case "newer":
            record.write_text(json.dumps(said | {"version": 2}))
        case "more":
            record.write_text(json.dumps(said | {"all": True}))
        case "list":
            record.write_text("[]")
        case "digest":
            record.write_text(json.dumps(said | {"books": {"lines:a.lines": "0" * 64}}))
        case "link":
            record.rename(a_person / "elsewhere")
            record.symlink_to(a_person / "elsewhere")

    assert not state(root).given
    grant(root)
    assert state(root).given


def test_a_repository_cannot_bring_its_own_trust(root, monkeypatch):
    grant(root)
    for folder in (root, root / "state", root.parent / "link" / "x"):
        monkeypatch.setenv("XDG_STATE_HOME", str(folder))
        if "link" in str(folder):
            (root.parent / "link").symlink_to(root)
        found = state(root)
        assert found.state is TrustState.UNTRUSTED
        assert "is inside the repository" in found.why
        with pytest.raises(BylawError, match="is inside the repository"):
            grant(root)
    assert not (root / "bylaw").exists()


@pytest.mark.parametrize("value", ["state", "./state", "~/state"])
def test_a_relative_state_folder_is_refused(root, monkeypatch, value):
    monkeypatch.setenv("XDG_STATE_HOME", value)

    assert "is not an absolute path" in state(root).why
    with pytest.raises(BylawError, match="absolute path"):
        grant(root)


def test_the_default_state_folder(root, tmp_path, monkeypatch):
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    grant(root)

    assert user_state(str(root)) == f"{tmp_path}/home/.local/state/bylaw"
    assert state(root).given
    assert S_IMODE((tmp_path / "home" / ".local").stat().st_mode) == 0o700
    monkeypatch.setenv("HOME", str(root))
    assert "is inside the repository" in state(root).why
    monkeypatch.delenv("HOME")
    assert not state(root).given


def test_a_folder_that_cannot_be_written(root, a_person):
    (a_person / "bylaw").write_text("a file")

    with pytest.raises(BylawError, match="cannot save what is trusted"):
        grant(root)
    with pytest.raises(BylawError, match="cannot remove trust"):
        remove_record(str(root))
    assert not state(root).given
