"""Our entries in settings of every client: put in, known again, replaced, taken out."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from settings_texts import OTHER_PYTHON, PYTHON, plain, settings_of, source, without

from bylaw.hosts.clients import load_adapter
from bylaw.hosts.hooks.install.entries import (
    InstalledEntries,
    calls_bylaw,
    has_all,
    has_set,
    with_entries,
    without_entries,
)
from bylaw.hosts.hooks.install.forms import CLIENTS
from bylaw.hosts.hooks.install.json_edit import insert_value, read_text, remove_value
from bylaw.model.errors import LoadError

every_client = pytest.mark.parametrize("host", CLIENTS)
# One for each form of entries and of texts.
every_form = pytest.mark.parametrize("host", ["claude", "qwen", "cursor", "opencode"])
FEW = settings(max_examples=15, deadline=None)  # reading a text again and again takes its time


@every_form
@FEW
@given(data=st.data())
def test_what_is_installed_leaves_no_trace(host, data):
    before = data.draw(settings_of(host))
    wanted = CLIENTS[host].wanted_entries(PYTHON)
    after = with_entries(source(before), wanted)

    assert has_all(source(after), wanted)
    value, old = plain(after, wanted.form), plain(before, wanted.form)
    assert without(value, wanted, old) == old
    assert (
        without_entries(source(after), wanted, InstalledEntries(wanted.entries), before) == before
    )


@every_form
@FEW
@given(data=st.data())
def test_another_interpreter_replaces_ours(host, data):
    before = data.draw(settings_of(host))
    old, new = (CLIENTS[host].wanted_entries(python) for python in (OTHER_PYTHON, PYTHON))
    installed = with_entries(source(before), old)

    assert not has_all(source(installed), new)
    assert has_set(source(installed), new)
    for known in (
        InstalledEntries(),
        InstalledEntries(old.entries),
        InstalledEntries(old.entries, None),
    ):
        assert without_entries(source(installed), new, known, before) == before


@every_form
@FEW
@given(data=st.data())
def test_without_a_memory_only_ours_go(host, data):
    """Then nobody knows which empty lists were there before: those that held ours go."""
    before = data.draw(settings_of(host))
    wanted = CLIENTS[host].wanted_entries(PYTHON)
    after = with_entries(source(before), wanted)
    left = without_entries(source(after), wanted, InstalledEntries())

    assert not calls_bylaw(source(left), wanted)
    kept = plain(left, wanted.form)
    for key in wanted.top:
        kept.pop(key, None)
    assert filled(kept) == filled({k: v for k, v in plain(before, wanted.form).items() if k not in wanted.top})  # fmt: skip


def filled(value):
    """What is left of settings if empty lists of hooks and plugins do not count."""
    kept = {**value}
    if "hooks" in kept:
        kept["hooks"] = {event: list_ for event, list_ in kept["hooks"].items() if list_}
    return {key: one for key, one in kept.items() if key not in {"hooks", "plugin"} or one}


@every_form
@FEW
@given(data=st.data())
def test_what_a_person_changed_since_stays(host, data):
    before = data.draw(settings_of(host))
    wanted = CLIENTS[host].wanted_entries(PYTHON)
    after = with_entries(source(before), wanted)
    edited = data.draw(edits(after, wanted))
    left = without_entries(source(edited), wanted, InstalledEntries(wanted.entries), before)

    assert not calls_bylaw(source(left), wanted)
    old = plain(before, wanted.form)
    assert plain(left, wanted.form) == without(plain(edited, wanted.form), wanted, old)


@st.composite
def edits(draw, text, wanted):
    """A member of the person's own is put in, another taken out, and a hook stands beside ours."""
    document = read_text(text, wanted.form)
    theirs = [i for i, one in enumerate(document.root.children) if one.key not in {"hooks", "plugin", *wanted.top}]  # fmt: skip
    if theirs and draw(st.booleans()):
        document = read_text(remove_value(document, document.root, draw(st.sampled_from(theirs))), wanted.form)  # fmt: skip
    if draw(st.booleans()):
        document = read_text(
            insert_value(document, document.root, [1, {"x": 2}], "mine"), wanted.form
        )
    if draw(st.booleans()):
        place = document.at(draw(st.sampled_from(wanted.entries)).list)
        theirs = {"command": "mine"} if wanted.entries[0].list[0] == "hooks" else "mine"
        document = read_text(insert_value(document, place, theirs), wanted.form)
    return document.text


@pytest.mark.parametrize("host", ["claude", "codex", "gemini", "qwen", "droid"])
def test_a_hook_that_a_person_put_into_our_group_stays(host):
    wanted = CLIENTS[host].wanted_entries(PYTHON)
    document = read_text(with_entries(source("{}"), wanted), wanted.form)
    list_ = wanted.entries[0].list
    group = document.at((*list_, 0, "hooks"))
    edited = insert_value(document, group, {"type": "command", "command": "mine"})
    left = without_entries(source(edited), wanted, InstalledEntries(wanted.entries), "{}")

    mine = {list_[1]: [{"hooks": [{"type": "command", "command": "mine"}]}]}
    assert plain(left, wanted.form) == {"hooks": mine}


NO_CALLS = [
    "logger starting bylaw hook claude now",
    "timeout 10 bylaw hook claude Stop",
    "bylaw hook claude Stop && notify-send done",
    "bylaw hook claude Stop; true",
    "true;/x/bylaw hook claude Stop",
    "bylaw hook claude Stop >> log",
    "FOO=1 bylaw hook claude Stop",
    "nice /usr/bin/python3 -I -m bylaw hook claude Stop",
    "/usr/bin/python3 -m bylaw hook claude Stop extra words",
    "$(which bylaw) hook claude Stop",
    '"$HOME/bylaw" hook claude Stop',
    "bylaw hook claudette Stop",
    "mybylaw hook claude Stop",
]
CALLS = [
    "bylaw hook claude",
    "bylaw hook claude Stop",
    "/opt/bin/bylaw hook claude Stop",
    "'/opt/a b/bylaw' hook claude Stop",
    '"/opt/a b/bylaw" hook claude Stop',
    "/usr/bin/python3 -I -m bylaw hook claude Stop",
    """'/opt/it'"'"'s/python' -I -m bylaw hook claude Stop""",
]


@pytest.mark.parametrize(
    ("command", "calls"), [(one, True) for one in CALLS] + [(one, False) for one in NO_CALLS]
)
def test_a_call_is_known_and_stays_whoever_wrote_it(command, calls):
    wanted = CLIENTS["claude"].wanted_entries(PYTHON)
    hook = {"type": "command", "command": command}
    text = json.dumps({"hooks": {"Stop": [{"hooks": [hook]}]}})

    assert calls_bylaw(source(text), wanted) is calls
    assert without_entries(source(text), wanted, InstalledEntries()) == text


@every_client
def test_a_set_that_is_not_whole_is_nobodys_that_is_known(host):
    wanted = CLIENTS[host].wanted_entries(PYTHON)
    text = with_entries(source("{}"), wanted, wanted.entries[1:])

    assert without_entries(source(text), wanted, InstalledEntries()) == text
    assert without_entries(source(text), wanted, InstalledEntries(wanted.entries), "{}") == "{}"


@every_client
def test_of_two_that_are_equal_one_was_written(host):
    wanted = CLIENTS[host].wanted_entries(PYTHON)
    one = with_entries(source("{}"), wanted, wanted.entries[:1])
    two = with_entries(source(one), wanted)

    assert without_entries(source(two), wanted, InstalledEntries(wanted.entries), one) == one
    assert without_entries(source(two), wanted, InstalledEntries(), one) == one


@every_client
def test_each_event_has_one_entry_that_names_client_and_event(host):
    wanted = CLIENTS[host].wanted_entries(PYTHON)
    said = [str(entry) for entry in wanted.entries]

    if host == "opencode":  # the plugin tells each event itself
        assert len(said) == 1
        return
    events = [entry.list[1] for entry in wanted.entries]
    assert events == list(load_adapter(host).moments)
    assert all(f" hook {host} {event}" in one for event, one in zip(events, said, strict=True))


@every_client
@pytest.mark.parametrize(
    "text", ["[]", "1", '{"hooks": 1, "plugin": 1}', '{"hooks": [], "plugin": {}}']
)
def test_what_has_no_room_is_refused_with_the_place(host, text):
    wanted = CLIENTS[host].wanted_entries(PYTHON)
    with pytest.raises(LoadError) as refused:
        with_entries(source(text), wanted)

    help_ = "fix the file and run the command again; nothing was changed"
    assert refused.value.diagnostics[0].help == help_
