"""What `bylaw rules` finds: written rules with their switches, texts, broken files."""

import json
from datetime import datetime

import lines
import pytest
from msgspec.structs import replace

from bylaw.languages.base import LoadResult
from bylaw.model.errors import BylawError, LoadError, RuleError
from bylaw.report.printers import rules as printer
from bylaw.report.rules import list_rules, show_rule, switch_rule
from bylaw.store.switches import SWITCHES, read_switches

LOAD = lines.load
RULES = """\
# says no
deny tool shell because no

core deny tool curl because never
off on turn.start say hello
"""
NO, NEVER, HELLO = (f"lines:a.lines#line-{number}" for number in (2, 4, 5))


@pytest.fixture
def root(tmp_path, monkeypatch, a_person):
    monkeypatch.chdir(tmp_path)
    put(tmp_path, "bylaw.toml", '[[book]]\npath = "a.lines"\n')
    put(tmp_path, "a.lines", RULES)
    return tmp_path


def put(root, name, text):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def switched(root, *uids, at="2026-01-31T12:00:00+00:00"):
    disabled = {uid: {"at": at} for uid in uids}
    put(root, SWITCHES, json.dumps({"version": 1, "disabled": disabled}))


def states(listing):
    return {one.rule.uid: one.state.value for one in listing.rules}


def codes(found):
    return [one.code for one in found.diagnostics]


class TestList:
    def test_the_rules_of_the_root(self, root):
        listing = list_rules(())

        assert states(listing) == {NO: "on", NEVER: "core", HELLO: "off in file"}
        assert not listing.has_errors

    def test_from_a_folder_below_the_root(self, root, monkeypatch):
        (root / "below").mkdir()
        monkeypatch.chdir(root / "below")
        switched(root, NO)

        assert states(list_rules(()))[NO] == "switched off"

    def test_switches_count_for_given_files_too(self, root):
        switched(root, NO, NEVER, HELLO)

        assert states(list_rules(["a.lines"])) == {
            NO: "switched off", NEVER: "core", HELLO: "off in file",
        }  # fmt: skip

    def test_a_switch_without_a_time_is_a_switch(self, root):
        switched(root, NO, at="")

        assert states(list_rules(()))[NO] == "switched off"

    def test_what_is_off(self, root):
        switched(root, NO)

        assert list(states(list_rules((), off=True))) == [NO, HELLO]

    def test_of_one_language(self, root):
        put(root, "wrong.lines", "denny\n")
        listing = list_rules(["a.lines", "wrong.lines"], "toml")

        assert (listing.rules, listing.broken) == ((), ())
        assert listing.has_errors  # a file was refused all the same

    def test_a_broken_file_is_no_rule(self, root):
        put(root, "wrong.lines", "# not good\ndenny\n")
        listing = list_rules(["a.lines", "wrong.lines"])

        assert list(states(listing)) == [NO, NEVER, HELLO]
        assert [(one.path, one.line) for one in listing.broken] == [("wrong.lines", 2)]
        assert codes(listing) == ["bad-line"]

    def test_rules_that_became_of_one(self, root, monkeypatch):
        """A language may lower one written rule to several; it is one rule for people."""

        def load(files):
            (group,) = LOAD(files).groups
            rules = [rule for rule in group.rules for _ in range(2)]
            return LoadResult((replace(group, rules=tuple(rules)),))

        monkeypatch.setattr(lines, "load", load)

        assert [one.rule.uid for one in list_rules(()).rules] == [NO, NEVER, HELLO]

    def test_switches_whose_rule_is_gone(self, root):
        switched(root, NO, "lines:old.lines#line-1", "toml:x.toml#x")

        assert list_rules(()).gone == ("lines:old.lines#line-1", "toml:x.toml#x")
        assert list_rules(["a.lines"]).gone == ()

    def test_a_rule_of_a_broken_file_may_come_back(self, root):
        put(root, "a.lines", "denny\n")
        switched(root, NO)

        assert list_rules(()).gone == ()

    def test_switches_that_cannot_be_read(self, root):
        put(root, SWITCHES, "{")
        listing = list_rules(())

        assert states(listing)[NO] == "on"
        assert (codes(listing), listing.has_errors) == (["broken-switches"], True)


class TestShow:
    @pytest.mark.parametrize(
        ("name", "line", "text"),
        [
            ("line-2", 2, ("deny tool shell because no",)),
            ("line-4", 4, ("core deny tool curl because never",)),
            (HELLO, 5, ("off on turn.start say hello",)),
        ],
    )
    def test_the_text_of_a_rule_ends_where_the_next_begins(self, root, name, line, text):
        found = show_rule(name)

        assert (found.line, found.lines) == (line, text)

    def test_the_only_rule_of_a_file_is_the_whole_file(self, root):
        put(root, "a.lines", "# one\n\ndeny tool shell because no\n# more\n\n")
        found = show_rule("line-3")

        assert found.line == 1
        assert found.lines == ("# one", "", "deny tool shell because no", "# more")

    def test_no_terminal_obeys_what_stands_in_a_file(self, root):
        put(root, "a.lines", "# \x1b[2J\x07\ndeny tool shell because \x1b]0;x\x07\t\u202eno\n")
        text = printer.render_rule(show_rule("line-2"))

        assert "\x1b" not in text
        assert "\u202e" not in text
        assert r"description  \u{1b}[2J\u{7}" in text
        assert r" 2 | deny tool shell because \u{1b}]0;x\u{7}" in text

    def test_a_long_text_is_cut(self, root):
        put(root, "a.lines", "deny tool shell because no\n" + "# more\n" * 500 + "first\n")
        text = printer.render_rule(show_rule("line-1"))

        assert text.endswith("     | … 302 more lines\n")
        assert len(printer.shown_rule_data(show_rule("line-1"))["text"].split("\n")) == 502

    @pytest.mark.parametrize(
        ("name", "text"), [("a.lines", "denny\n"), ("bylaw.toml", "discovr = true\n")]
    )
    def test_what_does_not_load_may_hold_what_is_sought(self, root, name, text):
        put(root, name, text)

        with pytest.raises(RuleError, match=r"no rules are loaded; some files do not load, run `"):
            show_rule("line-2")


class TestSwitch:
    def test_an_agent_switches_nothing(self, root, monkeypatch):
        monkeypatch.setenv("CLAUDECODE", "1")
        with pytest.raises(BylawError, match="a switch needs a person"):
            switch_rule("line-2", on=False)
        assert not read_switches(str(root)).disabled

    def test_off_and_on_again(self, root):
        off = switch_rule("line-2", on=False)
        since = read_switches(str(root)).disabled[NO]

        assert (off.uid, off.state.value, off.changed) == (NO, "switched off", True)
        assert datetime.fromisoformat(since).utcoffset() is not None
        assert states(list_rules(()))[NO] == "switched off"
        on = switch_rule(NO, on=True)
        assert (on.state.value, on.changed) == ("on", True)
        assert read_switches(str(root)).disabled == {}

    def test_a_second_time_changes_nothing(self, root):
        switched(root, NO)
        off = switch_rule("line-2", on=False)

        assert (off.changed, printer.render_switch_result(off)) == (
            False,
            "`line-2` is already disabled\n",
        )
        switch_rule("line-2", on=True)
        on = switch_rule("line-2", on=True)
        assert (on.changed, printer.render_switch_result(on)) == (
            False,
            "`line-2` is already enabled\n",
        )

    def test_to_enable_what_is_on_writes_nothing(self, root):
        switch_rule("line-2", on=True)

        assert not (root / ".bylaw").exists()

    def test_a_core_rule(self, root):
        """TR-027"""
        with pytest.raises(RuleError, match=r"core rule and cannot be disabled; see a\.lines:4"):
            switch_rule("line-4", on=False)
        assert not (root / ".bylaw").exists()

    def test_a_core_rule_that_has_a_switch_loses_it(self, root):
        switched(root, NEVER)
        done = switch_rule("line-4", on=True)

        assert (
            printer.render_switch_result(done) == "`line-4` is a core rule: it is always enabled\n"
        )
        assert read_switches(str(root)).disabled == {}

    def test_a_rule_that_is_off_in_its_file(self, root):
        """TR-024"""
        with pytest.raises(RuleError, match=r"set `enabled = true` in a\.lines:5"):
            switch_rule("line-5", on=True)
        done = switch_rule("line-5", on=False)
        assert printer.render_switch_result(done) == "`line-5` is already disabled in its file\n"
        assert not (root / ".bylaw").exists()

    def test_a_switch_whose_rule_is_gone_is_removed_by_its_uid(self, root):
        switched(root, NO, "lines:old.lines#line-1")
        done = switch_rule("lines:old.lines#line-1", on=True)

        assert "no rule has this name" in printer.render_switch_result(done)
        assert list(read_switches(str(root)).disabled) == [NO]

    def test_other_switches_are_kept(self, root):
        switched(root, "lines:old.lines#line-1")
        switch_rule("line-2", on=False)

        assert set(read_switches(str(root)).disabled) == {NO, "lines:old.lines#line-1"}

    @pytest.mark.parametrize("on", [True, False])
    def test_what_cannot_be_read_is_not_written_over(self, root, on):
        put(root, SWITCHES, "{")

        with pytest.raises(LoadError, match="cannot be read"):
            switch_rule("line-2", on=on)
        assert (root / SWITCHES).read_text() == "{"
