"""Where the tools of a chat must not write."""

import pytest

from bylaw.hosts.chat.tools.files import protected_by_default, protection_check
from bylaw.runtime.settings import ProtectSettings


@pytest.fixture
def protected(chat):
    def make(*files, **settings):
        places = [str(chat.put(file, "")) for file in files]
        return protection_check(str(chat.root), ProtectSettings(**settings), places)

    return make


@pytest.mark.parametrize(
    ("path", "why"),
    [
        (".git/config", "it belongs to git"),
        ("sub/.git", "it belongs to git"),
        (".GIT/hooks/pre-commit", "it belongs to git"),
        (".bylaw/state/journal.db", "it belongs to Bylaw"),
        ("bylaw.toml", "it contains settings of Bylaw"),
        ("sub/Bylaw.Toml", "it contains settings of Bylaw"),
        ("prompts/a.chatmd", "it holds a chat and its rules"),
        (".gitignore", None),
        ("git", None),
        ("src/bylaw.toml.py", None),
        ("chatmd", None),
        ("", None),
    ],
)
def test_by_default(path, why):
    assert protected_by_default(path) == why


def test_rules_in_force(protected):
    why = protected("rules/a.toml", "elsewhere/b.toml")
    assert why("rules/a.toml") == why("elsewhere/b.toml") == "its rules are active"
    assert why("rules/b.toml") is None
    assert why("bylaw.toml") == protected_by_default("bylaw.toml")


def test_a_rule_file_that_is_a_link(chat, protected):
    chat.put("real/a.toml", "")
    (chat.root / "rules").symlink_to("real")
    why = protection_check(str(chat.root), ProtectSettings(), [f"{chat.root}/rules/a.toml"])
    assert why("real/a.toml") == "its rules are active"


def test_files_outside_protect_nothing(chat):
    why = protection_check(str(chat.root), ProtectSettings(), [str(chat.outside / "secret")])
    assert why("secret") is None
    assert why("x") is None


def test_what_the_settings_name(protected):
    why = protected(paths=("ci", "docs/law.md", "deep/"))
    assert (
        why("ci")
        == why("ci/build.yml")
        == why("docs/law.md")
        == why("deep/er")
        == "the settings protect it"
    )
    assert why("cities") is None


def test_switched_off_only_git_stays(protected):
    why = protected("rules/a.toml", enabled=False, paths=("ci",))
    assert [
        why(path) for path in ("rules/a.toml", "ci/x", "bylaw.toml", ".bylaw/x", "a.chatmd")
    ] == [None] * 5
    assert why(".git/config") == "it belongs to git"
