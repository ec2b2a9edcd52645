"""The tables of `bylaw.toml`: every key, what is refused, and what counts while untrusted."""

import re
import tomllib
from pathlib import Path

import pytest

from bylaw.model.errors import LoadError
from bylaw.model.source import SourceFile
from bylaw.model.vocabulary import PolicyMode
from bylaw.runtime.root import IN_PROJECT, Configuration, read_settings
from bylaw.runtime.settings import (
    TABLES,
    TRUSTED_TABLES,
    BookSettings,
    CommandSettings,
    GeneralSettings,
    HooksSettings,
    JournalSettings,
    LawSettings,
    ModelSettings,
    OnFailure,
    ProtectSettings,
    Settings,
    StopSettings,
    restrict,
    values_to_trust,
)
from bylaw.store.journal.database import Durability

DOCUMENTATION = Path(__file__).parent.parent.parent / "docs" / "configuration.md"

WHOLE = """
discover = false
[[book]]
path = "prompts/main.chatmd"
[journal]
path = "var/./log.db"
keep_days = 30
redact = ['sk-\\w+', "(?i)bearer \\\\S+"]
durability = "power"
[command]
roots = ["src/", "./tools", "."]
allow = ["npm", "python3.11", "g++"]
env = ["CI", "_x1"]
timeout_s = 5
[law]
policy_mode = "relaxed"
bus = "var/bus"
[stop]
max_blocks = 7
[hooks]
on_failure = "open"
subagents = false
[protect]
enabled = false
paths = ["deploy", "docs/a.md"]
[model]
token_budget = 100_000
context_window = 200000
default = "anthropic:opus"
base_url = "https://models.example.org:8443/v1"
"""


def read(text, below=()):
    return read_settings(SourceFile("bylaw.toml", text), below)


def refused(text):
    with pytest.raises(LoadError) as caught:
        read(text)
    return caught.value.diagnostics


def found(text):
    return [(one.code, one.underlined) for one in refused(text)]


def test_every_key_is_read():
    settings = read(WHOLE).settings

    assert settings == Settings(
        JournalSettings(
            "var/log.db",
            30,
            (re.compile(r"sk-\w+"), re.compile(r"(?i)bearer \S+")),
            Durability.POWER,
        ),
        CommandSettings(("src", "tools", "."), ("npm", "python3.11", "g++"), ("CI", "_x1"), 5),
        LawSettings(PolicyMode.RELAXED, "var/bus"),
        StopSettings(7),
        HooksSettings(OnFailure.OPEN, False),
        ProtectSettings(False, ("deploy", "docs/a.md")),
        ModelSettings(100_000, 200_000, "anthropic:opus", "https://models.example.org:8443/v1"),
    )


def test_no_key_is_left_out_above():
    written = tomllib.loads(WHOLE)

    assert {name: {key.name for key in TABLES[name].keys} for name in TABLES} == {
        name: set(written[name]) for name in TABLES
    }
    assert Settings.__struct_fields__ == tuple(TABLES)


@pytest.mark.parametrize("table", [GeneralSettings, BookSettings, *TABLES.values()])
def test_fields_and_keys_are_the_same(table):
    assert table.__struct_fields__ == tuple(key.name for key in table.keys)


def test_the_defaults_of_the_design():
    assert read("").settings == Configuration().settings == Settings()
    assert Settings().journal.path == ".bylaw/state/journal.db"
    assert Settings().command == CommandSettings((), (), (), 60)
    assert Settings().law == LawSettings(PolicyMode.STRICT, "runtime/bus")
    assert (Settings().stop.max_blocks, Settings().hooks.on_failure) == (3, OnFailure.CLOSED)
    assert (Settings().hooks.subagents, Settings().protect.enabled) == (True, True)
    assert Settings().model == ModelSettings(None, None, None, None)


def test_below_pyproject():
    text = "[tool.bylaw.stop]\nmax_blocks = 4\n"

    assert read(text, IN_PROJECT).settings.stop.max_blocks == 4


def test_the_example_of_the_documentation_loads():
    (example,) = re.findall(r"```toml\n(.*?)```", DOCUMENTATION.read_text(), re.DOTALL)

    assert read(example).settings.command.timeout_s == 30


def test_all_problems_at_once_in_the_order_of_the_text():
    text = '[stop]\nmax_block = 3\n[comand]\nenv = []\n[law]\npolicy_mode = "lenient"\nbus = 3\n[[book]]\n'

    assert found(text) == [
        ("unknown-setting", "max_block"),
        ("unknown-setting", "comand"),
        ("unusable-setting", '"lenient"'),
        ("wrong-setting", "3"),
        ("missing-setting", "[[book]]"),
    ]
    assert [one.help for one in refused(text)[:3]] == [
        "did you mean `max_blocks`?",
        "did you mean `command`?",
        "known here: `relaxed`, `strict`",
    ]


@pytest.mark.parametrize(
    ("table", "line", "expected"),
    [
        ("journal", 'path = "/tmp/x.db"', ("unusable-setting", '"/tmp/x.db"')),
        ("journal", 'path = "../x.db"', ("unusable-setting", '"../x.db"')),
        ("journal", 'path = "a/../../x.db"', ("unusable-setting", '"a/../../x.db"')),
        ("journal", 'path = "var/"', ("unusable-setting", '"var/"')),
        ("journal", 'path = "."', ("unusable-setting", '"."')),
        ("journal", 'path = ""', ("unusable-setting", '""')),
        ("journal", 'path = "a\\u0000b"', ("unusable-setting", '"a\\u0000b"')),
        ("journal", 'path = "a\\u202eb"', ("unusable-setting", '"a\\u202eb"')),
        ("journal", "path = 1", ("wrong-setting", "1")),
        ("journal", "keep_days = 0", ("unusable-setting", "0")),
        ("journal", "keep_days = 1.5", ("wrong-setting", "1.5")),
        ("journal", "keep_days = true", ("wrong-setting", "true")),
        ("journal", 'keep_days = "30"', ("wrong-setting", '"30"')),
        ("journal", 'redact = "sk-"', ("wrong-setting", '"sk-"')),
        ("journal", 'redact = ["a", 3]', ("wrong-setting", "3")),
        ("journal", 'redact = ["a", "("]', ("unusable-setting", '"("')),
        ("journal", 'redact = ["a", "x*"]', ("unusable-setting", '"x*"')),
        ("journal", 'redact = ["a", "(x+)+y"]', ("unbounded-pattern", '"(x+)+y"')),
        ("journal", 'durability = "full"', ("unusable-setting", '"full"')),
        ("journal", "durability = true", ("wrong-setting", "true")),
        ("command", 'roots = "src"', ("wrong-setting", '"src"')),
        ("command", 'roots = ["src", "/src"]', ("unusable-setting", '"/src"')),
        ("command", 'roots = ["src", "src/.."]', ("unusable-setting", '"src/.."')),
        ("command", 'roots = ["~/src"]', ("unusable-setting", '"~/src"')),
        ("command", 'allow = ["/bin/sh"]', ("unusable-setting", '"/bin/sh"')),
        ("command", 'allow = ["npm run"]', ("unusable-setting", '"npm run"')),
        ("command", 'allow = ["-x"]', ("unusable-setting", '"-x"')),
        ("command", 'env = ["A=B"]', ("unusable-setting", '"A=B"')),
        ("command", 'env = ["1A"]', ("unusable-setting", '"1A"')),
        ("command", "env = [1]", ("wrong-setting", "1")),
        ("command", "timeout_s = 0", ("unusable-setting", "0")),
        ("command", "timeout_s = 86401", ("unusable-setting", "86401")),
        ("command", "timeout_s = inf", ("wrong-setting", "inf")),
        ("law", 'policy_mode = "Strict"', ("unusable-setting", '"Strict"')),
        ("law", 'bus = "../bus"', ("unusable-setting", '"../bus"')),
        ("stop", "max_blocks = 0", ("unusable-setting", "0")),
        ("stop", "max_blocks = -1", ("unusable-setting", "-1")),
        ("hooks", 'on_failure = "opened"', ("unusable-setting", '"opened"')),
        ("hooks", "subagents = 1", ("wrong-setting", "1")),
        ("protect", 'enabled = "no"', ("wrong-setting", '"no"')),
        ("protect", 'paths = ["/etc"]', ("unusable-setting", '"/etc"')),
        ("model", "token_budget = 0", ("unusable-setting", "0")),
        ("model", "context_window = []", ("wrong-setting", "[]")),
        ("model", 'default = ""', ("unusable-setting", '""')),
        ("model", 'base_url = "models.example.org"', ("unusable-setting", '"models.example.org"')),
        ("model", 'base_url = "file:///etc/passwd"', ("unusable-setting", '"file:///etc/passwd"')),
        ("model", 'base_url = "https://me:pw@example.org"', ("unusable-setting", '"https://me:pw@example.org"')),
        ("model", 'base_url = "https://example.org:123456"', ("unusable-setting", '"https://example.org:123456"')),
        ("model", 'base_url = "https://[::1"', ("unusable-setting", '"https://[::1"')),
        ("model", 'base_url = "https://example.org?a=b"', ("unusable-setting", '"https://example.org?a=b"')),
    ],
)  # fmt: skip
def test_a_value_that_cannot_be_used_is_underlined(table, line, expected):
    assert found(f"[{table}]\n{line}\n") == [expected]


def test_what_is_too_long_is_refused():
    many = ", ".join(f'"p{number}"' for number in range(101))

    assert [code for code, _ in found(f"[command]\nallow = [{many}]\n")] == ["unusable-setting"]
    assert [code for code, _ in found(f'[model]\ndefault = "{"m" * 1001}"\n')] == [
        "unusable-setting"
    ]


def test_a_password_is_not_repeated_in_the_headline():
    (one,) = refused('[model]\nbase_url = "https://me:secret@example.org"\n')

    assert "secret" not in one.headline


# Of each key: a value laxer than the default, which does not count; and one at least as strict,
# which does. None: there is none.
DIRECTIONS = {
    "journal.path": (None, "var/log.db"),
    "journal.keep_days": (None, 1),
    "journal.redact": (None, (re.compile("a"),)),
    "journal.durability": (None, Durability.POWER),
    "command.roots": (("src",), None),
    "command.allow": (None, ("npm",)),
    "command.env": (("CI",), None),
    "command.timeout_s": (61, 59),
    "law.policy_mode": (PolicyMode.RELAXED, None),
    "law.bus": ("elsewhere", None),
    "stop.max_blocks": (2, 4),
    "hooks.on_failure": (OnFailure.OPEN, None),
    "hooks.subagents": (False, None),
    "protect.enabled": (False, None),
    "protect.paths": (None, ("deploy",)),
    "model.token_budget": (None, 10),
    "model.context_window": (None, 10),
    "model.default": ("expensive", None),
    "model.base_url": ("https://collector.example.org", None),
}


def test_every_key_has_a_direction():
    assert list(DIRECTIONS) == [
        f"{name}.{key.name}" for name, table in TABLES.items() for key in table.keys
    ]


@pytest.mark.parametrize("name", DIRECTIONS)
def test_while_untrusted_only_what_is_stricter_counts(name):
    table, key = name.split(".")
    lax, strict = DIRECTIONS[name]

    if lax is not None:
        assert restrict(Settings(**{table: TABLES[table](**{key: lax})})) == Settings()
    if strict is not None:
        kept = Settings(**{table: TABLES[table](**{key: strict})})
        assert restrict(kept) == kept != Settings()


def test_restraint_of_restraint_changes_nothing():
    once = restrict(read(WHOLE).settings)

    assert restrict(once) == once
    assert restrict(Settings()) == Settings()


def test_what_a_person_trusts_is_what_differs_from_the_defaults():
    assert values_to_trust(Settings()) == {}
    assert (
        values_to_trust(read("[command]\ntimeout_s = 60\n[journal]\nkeep_days = 3\n").settings)
        == {}
    )
    assert values_to_trust(read(WHOLE).settings) == {
        "command": {
            "roots": ["src", "tools", "."],
            "allow": ["npm", "python3.11", "g++"],
            "env": ["CI", "_x1"],
            "timeout_s": 5,
        },
        "law": {"policy_mode": "relaxed", "bus": "var/bus"},
        "stop": {"max_blocks": 7},
        "hooks": {"on_failure": "open", "subagents": False},
        "protect": {"enabled": False, "paths": ["deploy", "docs/a.md"]},
        "model": {
            "token_budget": 100_000,
            "context_window": 200_000,
            "default": "anthropic:opus",
            "base_url": "https://models.example.org:8443/v1",
        },
    }
    assert set(values_to_trust(read(WHOLE).settings)) == set(TRUSTED_TABLES)
