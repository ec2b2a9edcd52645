"""What the plugin for OpenCode knows by heart, beside what the front end knows."""

import re
from importlib.resources import files

import pytest

from bylaw.cli import doctor, install
from bylaw.hosts.clients import fail_closed, load_adapter
from bylaw.hosts.hooks import entrypoint
from bylaw.runtime.effects import ABILITIES

MOMENTS = load_adapter("opencode").moments
PLUGIN = (files("bylaw.hosts.hooks.install") / "opencode_plugin.js").read_text()


def constant(name):
    """A number or a text of the plugin."""
    value = re.search(rf"^const {name} = (.+)$", PLUGIN, re.MULTILINE)[1]
    return value.strip('"') if value.startswith('"') else int(value.replace("_", ""))


def test_it_waits_longer_than_the_front_end_does():
    """Whoever gives up first says what a failure means."""
    for event, name in {
        "tool.execute.before": "PATIENCE_MS",
        "session.idle": "STOP_PATIENCE_MS",
    }.items():
        left_s = constant(name) / 1000 - fail_closed.patience_s(event)
        assert 10 <= left_s <= 30


def test_it_closes_the_same_gates():
    named = re.search(r"^const GATES = new Set\(\[(.+)\]\)$", PLUGIN, re.MULTILINE)[1]

    assert set(re.findall(r'"([^"]+)"', named)) == set(fail_closed.DENIALS["opencode"])


def test_it_obeys_only_what_the_adapter_says():
    """A refusal comes at gates alone: nothing else reads one."""
    denied = {name for name, moment in MOMENTS.items() if moment in ABILITIES["opencode"].denies}

    assert denied == set(fail_closed.DENIALS["opencode"])
    (read,) = re.findall(r".*decision.*", PLUGIN)
    assert 'if (answer.decision === "block" && GATES.has(event))' in read


def test_both_name_the_same_first_step():
    first = entrypoint.WAY_OUT.partition(";")[0]

    assert constant("WAY_OUT").startswith(first)


@pytest.mark.parametrize("way_out", [entrypoint.WAY_OUT, constant("WAY_OUT")])
def test_every_way_out_is_a_command_that_can_be_called(way_out, monkeypatch):
    for does in ("_examine", "_release"):
        monkeypatch.setattr(doctor, does, lambda *_: 0)
    commands = re.findall(r"`bylaw ([^`]+)`", way_out)
    assert commands
    for words in map(str.split, commands):
        if words[0] == "doctor":
            assert doctor.doctor_command.main(words[1:], standalone_mode=False) == 0
        else:
            assert words == ["uninstall", "opencode"]
            with install.uninstall_command.make_context(words[0], words[1:]):
                pass
