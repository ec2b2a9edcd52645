"""`.deepwork/config.yml`: what counts, what is wrong with it, and that it switches nothing off."""

import os

import pytest

from bylaw.model import diagnostic_text as printer
from bylaw.model.diagnostic import Severity
from bylaw.runtime.loader import load, load_root
from bylaw.runtime.policy_settings import (
    CONFIG,
    LEGACY,
    POLICIES_DIR,
    OutputMode,
    PolicySettings,
    read_policy_settings,
)
from bylaw.runtime.root import Configuration
from bylaw.runtime.rule_files import POLICIES, RuleFileReason, SearchResult, discover, search_given


@pytest.fixture
def root(tmp_path):
    (tmp_path / POLICIES_DIR).mkdir(parents=True)
    (tmp_path / POLICIES_DIR / "here.md").write_text("---\ntrigger: a\n---\nLook.\n")
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "there.md").write_text("---\ntrigger: b\n---\nLook.\n")
    return tmp_path


def settings(root, text):
    (root / CONFIG).write_text(text)
    return read_policy_settings(str(root))


def told(settings):
    return [(one.severity.value, one.code, one.underlined) for one in settings.findings]


def policies(root):
    """The policies that a search finds below a root."""
    found = discover(str(root), Configuration()).found
    return [one.path for one in found if one.dialect == POLICIES]


DEFAULTS = PolicySettings()


class TestValues:
    def test_no_file(self, root):
        """DW-119"""
        assert read_policy_settings(str(root)) == DEFAULTS
        assert PolicySettings(True, POLICIES_DIR, OutputMode.BATCHED, ()) == DEFAULTS

    @pytest.mark.parametrize("text", ["", "# nothing\n", "policy:\n", "policy: {}\n"])
    def test_a_file_that_says_nothing(self, root, text):
        """DW-119"""
        assert settings(root, text) == DEFAULTS

    def test_all_keys(self, root):
        """DW-116, DW-117, DW-118"""
        text = "policy:\n  enabled: false\n  policies_dir: ./rules/\n  output_mode: individual\n"
        expected = PolicySettings(
            enabled=False, policies_dir="rules", output_mode=OutputMode.INDIVIDUAL
        )
        assert settings(root, text) == expected

    def test_as_the_document_shows_it(self, root):
        text = (
            "policy:\n  enabled: true\n  policies_dir: .deepwork/policies  # Can be customized\n"
            "  output_mode: batched  # batched or individual\n"
        )
        assert settings(root, text) == DEFAULTS

    def test_what_other_programs_keep_there(self, root):
        text = "version: 1.0.0\nplatforms:\n- claude\npython:\n  manager: uv\npolicy: {}\n"
        assert settings(root, text) == DEFAULTS


class TestWrong:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ('policy: {enabled: "no"}', ("wrong-setting", '"no"')),
            ("policy: {enabled: no}", ("wrong-setting", "no")),
            ("policy: {output_mode: quiet}", ("unusable-setting", "quiet")),
            ("policy: {output_mode: 5}", ("wrong-setting", "5")),
            ("policy: {policies_dir: ../up}", ("unusable-setting", "../up")),
            ("policy: {policies_dir: /etc}", ("unusable-setting", "/etc")),
            ("policy: {policies_dir: a/../..}", ("unusable-setting", "a/../..")),
            ('policy: {policies_dir: ""}', ("unusable-setting", '""')),
            ("policy: {policies_dir: [rules]}", ("wrong-setting", "[rules]")),
            ("policy: {enabld: false}", ("unknown-setting", "enabld")),
            ("policies: {enabled: false}", ("unknown-setting", "policies")),
            ("enabled: false", ("unknown-setting", "enabled")),
            ("policy: off", ("wrong-setting", "off")),
            ("- policy", ("wrong-setting", "- policy")),
            ("policy: [", ("yaml-syntax", "[")),
        ],
    )
    def test_it_is_told_and_the_default_counts(self, root, text, expected):
        """DW-116, DW-117, DW-118: every one of them is a load error"""
        read = settings(root, text)
        assert told(read) == [("error", *expected)]
        assert read == PolicySettings(findings=read.findings)
        assert policies(root) == [f"{POLICIES_DIR}/here.md"]

    def test_a_mistake_spoils_no_other_key(self, root):
        read = settings(root, "policy: {policies_dir: rules, output_mode: quiet}")
        assert (read.policies_dir, len(read.findings)) == ("rules", 1)

    def test_a_folder_that_is_not_there(self, root):
        read = settings(root, "policy: {policies_dir: rulse}")
        assert told(read) == [("error", "no-rule-files", "rulse")]
        assert (read.policies_dir, read.missing_dir) == (POLICIES_DIR, "rulse")
        assert policies(root) == [f"{POLICIES_DIR}/here.md"]

    @pytest.mark.parametrize("made", ["folder", "pipe", "bytes", "away", "nowhere", "large"])
    def test_a_file_that_cannot_be_read(self, root, made, tmp_path_factory):
        path = root / CONFIG
        outside = tmp_path_factory.mktemp("outside") / "config.yml"
        outside.write_text("policy: {enabled: false}\n")
        match made:
            case "folder":
                path.mkdir()
            case "pipe":
                os.mkfifo(path)
            case "bytes":
                path.write_bytes(b"policy: \xff")
            case "away":
                path.symlink_to(outside)
            case "nowhere":
                path.symlink_to("nothing")
            case "large":
                path.write_bytes(b"#" * 6_000_000)
        read = read_policy_settings(str(root))
        assert [one.severity for one in read.findings] == [Severity.ERROR]
        assert read.enabled
        assert policies(root) == [f"{POLICIES_DIR}/here.md"]

    def test_control_characters_are_seen(self, root):
        read = settings(root, 'policy: {output_mode: "\\e[2J"}')
        assert "\x1b" not in printer.render(read.findings)


class TestSearch:
    def test_the_folder_that_is_named(self, root):
        """DW-117"""
        settings(root, "policy: {policies_dir: rules}")
        search = discover(str(root), Configuration())
        [one] = search.found
        assert (one.path, one.why, one.by) == (
            "rules/there.md",
            RuleFileReason.CONVENTION,
            "rules/*.md",
        )
        assert "rules/*.md" in [place.pattern for place in search.places]

    def test_switched_off(self, root):
        """DW-116"""
        settings(root, "policy: {enabled: false}")
        search = discover(str(root), Configuration())
        assert (search.found, search.off) == ((), (POLICIES,))
        assert POLICIES not in [place.dialect for place in search.places]

    @pytest.mark.parametrize("named", ['path = "rules/there.md"', 'path = "rules"'])
    def test_switched_off_is_also_what_settings_name(self, root, named):
        """DW-116"""
        (root / "bylaw.toml").write_text(f"[[book]]\n{named}\n")
        assert [one.dialect.name for one in load_root(str(root)).books] == [POLICIES]
        settings(root, "policy: {enabled: false}")
        library = load_root(str(root))
        assert (library.books, library.diagnostics) == ((), ())

    def test_a_language_that_is_off_is_not_loaded(self, root):
        (root / "rules.toml").write_text("broken")
        found = search_given(str(root), ["rules.toml"], str(root))
        assert load(found).diagnostics
        off = load(SearchResult(str(root), found.found, off=("toml",)))
        assert (off.books, off.diagnostics) == ((), ())

    def test_findings_refuse_nothing(self, root):
        settings(root, "policy: {enabled: 1}")
        (root / POLICIES_DIR / "here.md").unlink()
        library = load_root(str(root))
        assert [one.code for one in library.diagnostics] == ["wrong-setting"]
        assert library.refusals == ()


class TestLegacy:
    def test_it_is_told_once_and_not_read(self, root):
        """DW-138"""
        (root / LEGACY).write_text("- name: [broken\n")
        findings = discover(str(root), Configuration()).findings
        assert [(one.severity.value, one.code) for one in findings] == [
            ("warning", "legacy-policies")
        ]
        assert "bylaw policies migrate" in findings[0].help
        assert policies(root) == [f"{POLICIES_DIR}/here.md"]

    def test_not_where_policies_are_off(self, root):
        (root / LEGACY).write_text("[]")
        settings(root, "policy: {enabled: false}")
        assert discover(str(root), Configuration()).findings == ()
