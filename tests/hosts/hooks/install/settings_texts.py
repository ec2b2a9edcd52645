"""Settings of a client as people have them, with hooks of others, and what becomes of them."""

from config_texts import KEYS, SCALARS, VALUES, texts
from hypothesis import strategies as st

from bylaw.hosts.clients import load_adapter
from bylaw.hosts.hooks.install.entries import read_config
from bylaw.hosts.hooks.install.forms import CLIENTS
from bylaw.model.source import SourceFile

PYTHON = "/opt/a b/it's/bin/python"
OTHER_PYTHON = "/usr/bin/python3"
THEIRS = [
    *("notify-send done", "bylaw --version", "/x/bylaw hook other Stop", "echo bylaw hook"),
    *(f"timeout 10 bylaw hook {host} Stop" for host in ("claude", "qwen", "cursor")),
]
_HOOKS = st.fixed_dictionaries({"type": st.just("command"), "command": st.sampled_from(THEIRS)})
_GROUPS = st.fixed_dictionaries({"hooks": st.lists(_HOOKS, max_size=2)})


def _lists(host):
    if host == "opencode":
        return {"plugin": st.lists(st.sampled_from(["a", "file:///x/plugin.js"]), max_size=2)}
    elements = _GROUPS if host in {"claude", "codex", "gemini", "qwen", "droid"} else _HOOKS
    events = st.sampled_from([*list(load_adapter(host).moments)[:3], "Other"])
    return {"hooks": st.dictionaries(events, st.lists(elements, max_size=2), max_size=3)}


def settings_of(host):
    """Texts that the client reads."""
    known = st.fixed_dictionaries({}, optional=_lists(host))
    rest = st.dictionaries(KEYS.filter(lambda key: key not in {"hooks", "plugin"}), VALUES | SCALARS, max_size=3)  # fmt: skip
    both = st.tuples(rest, known, st.booleans()).map(lambda three: merged(*three))
    return texts(both, CLIENTS[host].form)


def merged(one, other, swapped):
    """Members of both, in either order."""
    return {**other, **one} if swapped else {**one, **other}


def source(text):
    """As if it came from a file."""
    return SourceFile("settings.json", text)


def plain(text, form):
    """What a client reads."""
    document = read_config(source(text), form)
    return document.plain(document.root)


def without(value, wanted, before):
    """Settings without our entries, worked out on values: texts have no part in it.

    Lists and objects that are empty now, and were not there before, go.
    """
    left = {**value}
    for entry in wanted.entries:
        _take(left, entry.list, entry.value, before)
    for key, one in wanted.top.items():
        if key not in before and left.get(key) == one:
            del left[key]
    return left


def _take(inside, path, value, before):
    key, *rest = path
    was = before.get(key) if isinstance(before, dict) else None
    if rest:
        inside[key] = {**inside[key]}
        _take(inside[key], rest, value, was)
    else:
        inside[key] = [one for one in inside[key] if one != value]
    if not inside[key] and was is None:
        del inside[key]
