"""Our entries in settings of every client: put in, known again, replaced, taken out."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from settings_texts import OTHER_PYTHON, PYTHON, plain, settings_of, source, without

from bylaw.hosts.hooks.adapters import adapter_named
from bylaw.hosts.hooks.install.clients import CLIENTS
from bylaw.hosts.hooks.install.entries import has_ours, is_installed, with_entries, without_entries
from bylaw.hosts.hooks.install.json_edit import put_in, take_out
from bylaw.hosts.hooks.install.json_text import read_text
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
    shape = CLIENTS[host].shape(PYTHON)
    after = with_entries(source(before), shape)

    assert is_installed(source(after), shape)
    value, old = plain(after, shape.form), plain(before, shape.form)
    assert without(value, shape, old) == old
    assert without_entries(source(after), shape, before) == before


@every_form
@FEW
@given(data=st.data())
def test_another_interpreter_replaces_ours(host, data):
    before = data.draw(settings_of(host))
    old, new = (CLIENTS[host].shape(python) for python in (OTHER_PYTHON, PYTHON))
    installed = with_entries(source(before), old)

    assert not is_installed(source(installed), new)
    assert has_ours(source(installed), new)
    assert without_entries(source(installed), new, before) == before


@every_form
@FEW
@given(data=st.data())
def test_without_a_memory_only_ours_go(host, data):
    """Then nobody knows which empty lists were there before: those that held ours go."""
    before = data.draw(settings_of(host))
    shape = CLIENTS[host].shape(PYTHON)
    after = with_entries(source(before), shape)
    left = without_entries(source(after), shape)

    assert not has_ours(source(left), shape)
    kept = plain(left, shape.form)
    for key in shape.top:
        kept.pop(key, None)
    assert filled(kept) == filled({k: v for k, v in plain(before, shape.form).items() if k not in shape.top})  # fmt: skip


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
    shape = CLIENTS[host].shape(PYTHON)
    after = with_entries(source(before), shape)
    edited = data.draw(edits(after, shape))
    left = without_entries(source(edited), shape, before)

    assert not has_ours(source(left), shape)
    old = plain(before, shape.form)
    assert plain(left, shape.form) == without(plain(edited, shape.form), shape, old)


@st.composite
def edits(draw, text, shape):
    """A member of the person's own is put in, another taken out, and a hook stands beside ours."""
    document = read_text(text, shape.form)
    theirs = [i for i, one in enumerate(document.root.children) if one.key not in {"hooks", "plugin", *shape.top}]  # fmt: skip
    if theirs and draw(st.booleans()):
        document = read_text(take_out(document, document.root, draw(st.sampled_from(theirs))), shape.form)  # fmt: skip
    if draw(st.booleans()):
        document = read_text(put_in(document, document.root, [1, {"x": 2}], "mine"), shape.form)
    if draw(st.booleans()):
        place = document.at(draw(st.sampled_from(shape.wanted)).list)
        theirs = {"command": "mine"} if shape.wanted[0].list[0] == "hooks" else "mine"
        document = read_text(put_in(document, place, theirs), shape.form)
    return document.text


@pytest.mark.parametrize("host", ["claude", "codex", "gemini", "qwen", "droid"])
def test_a_hook_that_a_person_put_into_our_group_stays(host):
    shape = CLIENTS[host].shape(PYTHON)
    document = read_text(with_entries(source("{}"), shape), shape.form)
    list_ = shape.wanted[0].list
    group = document.at((*list_, 0, "hooks"))
    edited = put_in(document, group, {"type": "command", "command": "mine"})
    left = without_entries(source(edited), shape, "{}")

    mine = {list_[1]: [{"hooks": [{"type": "command", "command": "mine"}]}]}
    assert plain(left, shape.form) == {"hooks": mine}


@every_client
def test_each_event_has_one_entry_that_names_client_and_event(host):
    shape = CLIENTS[host].shape(PYTHON)
    said = [str(entry) for entry in shape.wanted]

    if host == "opencode":  # the plugin tells each event itself
        assert len(said) == 1
        return
    events = [entry.list[1] for entry in shape.wanted]
    assert events == list(adapter_named(host).moments)
    assert all(f" hook {host} {event}" in one for event, one in zip(events, said, strict=True))


@every_client
@pytest.mark.parametrize(
    "text", ["[]", "1", '{"hooks": 1, "plugin": 1}', '{"hooks": [], "plugin": {}}']
)
def test_what_has_no_room_is_refused_with_the_place(host, text):
    shape = CLIENTS[host].shape(PYTHON)
    with pytest.raises(LoadError) as refused:
        with_entries(source(text), shape)

    assert refused.value.diagnostics[0].help == "mend it, and call again; nothing was changed"
