"""A hook that a person wrote and that calls Bylaw: no installation takes it for one of its own."""

import json
from pathlib import Path

import pytest
from installing import make_desk

from bylaw.hosts.hooks.install import forms
from bylaw.hosts.hooks.install.forms import CLIENTS

pytestmark = pytest.mark.usefixtures("a_person")
every_client = pytest.mark.parametrize("host", CLIENTS)
PYTHON = "/opt/bylaw/bin/python"
OTHER = "/opt/other/bin/python"
GROUPED = ("claude", "codex", "gemini", "qwen", "droid")
STOP = {
    **dict.fromkeys((*GROUPED,), "Stop"),
    "gemini": "AfterAgent",
    "copilot": "agentStop",
    "cursor": "stop",
}


@pytest.fixture
def desk(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("bylaw.cli.install.check_interpreter", lambda _: None)
    monkeypatch.setattr("bylaw.cli.init.check_interpreter", lambda _: None)
    monkeypatch.setattr(forms.sys, "executable", PYTHON)
    return make_desk(tmp_path, capsys, monkeypatch)


def wanted(host, python=PYTHON):
    """What `bylaw install` writes, by list."""
    return {entry.list: entry.value for entry in CLIENTS[host].wanted_entries(python).entries}


def to_the_letter(host):
    """The list of the last entry but one, and what `bylaw install` would put there."""
    return list(wanted(host).items())[-2:][0]


def with_time(host):
    """What we call, but with a time of the person's own."""
    list_, value = to_the_letter(host)
    own = json.loads(json.dumps(value))
    if host == "opencode":
        own[1]["patience"] = 5
    else:
        own.get("hooks", [own])[0]["timeout"] = 5
    return list_, own


def with_matcher(host):
    """A call of `bylaw`, for some calls only."""
    if host == "opencode":
        return ("plugin",), wanted(host)["plugin",][0]  # the plugin without options
    line = f"bylaw hook {host} {STOP[host]}"
    hook = {"type": "command", "bash" if host == "copilot" else "command": line}
    own = {"matcher": "x", "hooks": [hook]} if host in GROUPED else {**hook, "matcher": "x"}
    return ("hooks", STOP[host]), own


OWN = {"another time": with_time, "a matcher": with_matcher, "to the letter": to_the_letter}
every_own = pytest.mark.parametrize("own", OWN.values(), ids=OWN.keys())
different = pytest.mark.parametrize("own", [with_time, with_matcher])


def text_with(list_, *values, more=""):
    """Settings as a person lays them out, which no program would."""
    inside = ",  ".join(json.dumps(value, separators=(" ,", " : ")) for value in values)
    key = list_[-1]
    whole = f'{{ "{key}":[ {inside} ] }}' if len(list_) > 1 else f"[ {inside} ]"
    top = '"hooks"' if len(list_) > 1 else '"plugin"'
    return f'{{\n   {more}"version": 1,\n   {top} : {whole}\n}}\n'


def listed(file, list_):
    found = json.loads(file.read_text())
    for key in list_:
        found = found.get(key, {})
    return found or []


@every_client
@every_own
@pytest.mark.parametrize("scope", ["project", "user"])
def test_it_is_there_to_the_byte_when_ours_are_gone(desk, host, own, scope):
    list_, value = own(host)
    before = text_with(list_, value)
    file = desk.write(host, before, scope)
    desk.yes("install", host, f"--{scope}")
    installed = file.read_text()

    assert json.dumps(value, separators=(" ,", " : ")) in installed
    desk.yes("install", host, f"--{scope}")
    assert file.read_text() == installed
    for _ in range(2):
        desk.yes("uninstall", host, f"--{scope}")
        assert file.read_text() == before


@every_client
@every_own
def test_it_is_there_when_somebody_else_changed_the_file_since(desk, host, own):
    list_, value = own(host)
    file = desk.write(host, text_with(list_, value))
    desk.yes("install", host)
    more = '"mine": [ 1 ],'
    file.write_text(file.read_text().replace("{\n   ", "{\n   " + more, 1))
    for _ in range(2):
        desk.yes("uninstall", host)
        assert file.read_text() == text_with(list_, value, more=more)


@every_client
@different
def test_ours_stands_beside_it_and_that_is_said(desk, host, own):
    list_, value = own(host)
    file = desk.write(host, text_with(list_, value))
    shown = desk.yes("install", host)

    assert listed(file, list_) == [value, wanted(host)[list_]]
    assert "kept, because `bylaw install` is not known to have written them:\n" in shown
    assert "  line 3: " in shown
    # Of equal commands these two run one.
    runs_one = own is with_time and host in ("claude", "gemini")
    assert ("decided twice, and counted twice" in shown) is not runs_one


@every_client
def test_what_is_ours_to_the_letter_is_not_written_again(desk, host):
    list_, value = to_the_letter(host)
    file = desk.write(host, text_with(list_, value))
    shown = desk.yes("install", host)

    assert {one: listed(file, one) for one in wanted(host)} == {
        one: [value] for one, value in wanted(host).items()
    }
    assert "  line 3: " in shown
    assert "decided twice" not in shown
    assert "  line 3: " in desk.yes("uninstall", host)


@every_client
def test_a_whole_set_that_nobody_has_installed_stays(desk, host):
    """A person has copied all of it, or it came with the repository."""
    other = desk.write(host, "{}", "user")
    desk.yes("install", host, "--user")
    before = other.read_text()
    file = desk.write(host, before)
    assert "already installed" in desk.yes("install", host)
    file.write_text(before.replace("{\n", '{\n  "mine": 1,\n', 1))
    for _ in range(2):
        shown = desk.yes("uninstall", host)
        assert "that `bylaw install` wrote\nkept, because" in shown
        assert file.read_text() == before.replace("{\n", '{\n  "mine": 1,\n', 1)


@every_client
def test_what_stays_after_all_ours_are_gone_stays_for_good(desk, host):
    """The whole set of another interpreter is a person's own if it was there before ours."""
    desk.monkeypatch.setattr(forms.sys, "executable", OTHER)
    desk.write(host, "{}", "user")
    desk.yes("install", host, "--user")
    before = desk.file(host, "user").read_text()
    file = desk.write(host, before)
    desk.yes("install", host)  # it is told that they are not ours
    desk.monkeypatch.setattr(forms.sys, "executable", PYTHON)
    assert desk.yes("install", host).count("decided twice") >= len(wanted(host))
    for _ in range(3):
        desk.yes("uninstall", host)
        assert file.read_text() == before


@every_client
@every_own
def test_another_interpreter_replaces_ours_and_not_theirs(desk, host, own):
    list_, value = own(host)
    before = text_with(list_, value)
    file = desk.write(host, before)
    desk.yes("install", host)
    desk.monkeypatch.setattr(forms.sys, "executable", OTHER)
    desk.yes("install", host)

    assert listed(file, list_) == [value, wanted(host, OTHER)[list_]]
    rest = {one: [value] for one, value in wanted(host, OTHER).items() if one != list_}
    assert {one: listed(file, one) for one in rest} == rest
    desk.yes("uninstall", host)
    assert file.read_text() == before


@every_client
def test_one_that_a_person_adds_later_is_left(desk, host):
    """Also if it is what we wrote: of the two, one stays."""
    file = desk.write(host, '{"mine": 1}')
    desk.yes("install", host)
    for own in (to_the_letter, with_matcher):
        list_, value = own(host)
        settings = json.loads(file.read_text())
        inner = settings
        for key in list_[:-1]:
            inner = inner[key]
        inner[list_[-1]].append(value)
        file.write_text(json.dumps(settings))
    desk.yes("uninstall", host)

    for own in (to_the_letter, with_matcher):
        list_, value = own(host)
        assert value in listed(file, list_)
    assert sum(len(listed(file, one)) for one in {*wanted(host), with_matcher(host)[0]}) == 2


@every_client
@different
def test_without_a_memory_a_whole_set_goes_and_theirs_stays(desk, host, own, a_person):
    list_, value = own(host)
    file = desk.write(host, text_with(list_, value))
    desk.yes("install", host)
    for one in Path(a_person).rglob("installed-*"):
        one.unlink()
    desk.yes("uninstall", host)

    left = json.loads(file.read_text())
    assert left == {"version": 1, **json.loads(text_with(list_, value))}


@every_client
def test_of_a_set_that_is_not_whole_nobody_knows_whose_it_is(desk, host, a_person):
    if host == "opencode":
        return  # it has one entry
    file = desk.write(host, "{}")
    desk.yes("install", host)
    for one in Path(a_person).rglob("installed-*"):
        one.unlink()
    settings = json.loads(file.read_text())
    settings["hooks"].popitem()
    file.write_text(json.dumps(settings))
    before = file.read_text()
    assert "kept, because" in desk.yes("uninstall", host)
    assert file.read_text() == before


@every_client
def test_an_entry_of_ours_that_a_person_changed_is_theirs(desk, host):
    file = desk.write(host, "{}")
    desk.yes("install", host)
    list_, value = with_time(host)
    settings = json.loads(file.read_text())
    inner = settings
    for key in list_[:-1]:
        inner = inner[key]
    inner[list_[-1]] = [value]
    file.write_text(json.dumps(settings))

    assert "kept, because" in desk.yes("uninstall", host)
    assert listed(file, list_) == [value]
    assert sum(len(listed(file, one)) for one in wanted(host)) == 1


def test_for_programs(desk):
    list_, value = with_matcher("claude")
    desk.write("claude", text_with(list_, value))
    for verb in ("install", "uninstall"):
        assert desk.bylaw(verb, "claude", "--format", "json", "--yes") == 0
        told = json.loads(desk.out)
        assert told["left"] == [{"line": 3, "command": "bylaw hook claude Stop"}]


def test_a_dry_run_remembers_nothing(desk, a_person):
    desk.write("claude", "{}", "user")
    desk.yes("install", "claude", "--user")
    file = desk.write("claude", desk.file("claude", "user").read_text())
    noted = set(Path(a_person).rglob("installed-*"))
    assert desk.bylaw("install", "claude", "--dry-run") == 0
    assert set(Path(a_person).rglob("installed-*")) == noted
    desk.yes("uninstall", "claude")
    assert not json.loads(file.read_text())


def test_one_in_the_other_scope_is_not_to_be_uninstalled(desk):
    list_, value = with_matcher("droid")
    desk.write("droid", text_with(list_, value), "user")
    shown = desk.yes("install", "droid")

    assert "remove the other hooks that call Bylaw: hooks are also in `" in shown
    assert "bylaw uninstall droid --user" not in shown


def test_one_hook_of_a_person_is_not_enough_for_init(desk):
    list_, value = with_matcher("droid")
    desk.write("droid", text_with(list_, value), "user")
    (desk.root / ".factory").mkdir()
    assert "hooks for Factory Droid" in desk.yes("init")
    assert "PreToolUse" in json.loads(desk.file("droid").read_text())["hooks"]


def test_init_says_what_is_judged_twice(desk):
    list_, value = with_matcher("droid")
    desk.write("droid", text_with(list_, value))
    assert "decided twice, and counted twice" in desk.yes("init")
