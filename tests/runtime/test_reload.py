"""Rules are loaded again while an engine runs: what loads is taken over, nothing else is lost."""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

import lines
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import force_setattr

import bylaw
from bylaw.languages.base import LoadResult, SiblingFileError
from bylaw.model.codes.files import UNKNOWN_DIALECT
from bylaw.model.diagnostic import error
from bylaw.model.event import ToolBefore, TurnStart
from bylaw.model.source import SourceFile, Span

A, B = "deny tool shell because a\n", "deny tool curl because b\n"
BAD = "denny\n"
LOAD = lines.load


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules").mkdir()
    return tmp_path


def put(root, **texts):
    for name, text in texts.items():
        (root / "rules" / f"{name}.lines").write_text(text)


@pytest.fixture
def engine(root):
    put(root, a=A, b=B)
    return bylaw.Engine(bylaw.load("rules"))


def reasons(engine, tool):
    return [reason.text for reason in engine.decide(ToolBefore(tool=tool)).reasons]


def codes(library):
    return [(one.code, one.source.path) for one in library.diagnostics]


def rule_set(engine):
    return engine._dry_run.rules


class TestWhatLoadsIsTakenOver:
    def test_a_changed_file(self, engine, root):
        put(root, a="deny tool shell because changed\n")
        library = engine.reload()

        assert reasons(engine, "shell") == ["changed"]
        assert reasons(engine, "curl") == ["b"]
        assert library.diagnostics == engine.diagnostics == ()

    def test_a_new_file(self, engine, root):
        put(root, c="deny tool ls because c\n")
        engine.reload()

        assert reasons(engine, "ls") == ["c"]
        assert reasons(engine, "shell") == ["a"]

    def test_a_file_that_is_gone(self, engine, root):
        (root / "rules/a.lines").unlink()
        engine.reload()

        assert (reasons(engine, "shell"), reasons(engine, "curl")) == ([], ["b"])

    def test_a_book_that_is_gone(self, root):
        (root / "bylaw.toml").write_text('[[book]]\npath = "rules/a.lines"\n')
        put(root, a=A)
        engine = bylaw.Engine(bylaw.load())
        (root / "bylaw.toml").write_text("discover = true\n")
        library = engine.reload()

        assert (reasons(engine, "shell"), library.books) == ([], ())

    def test_books_that_the_settings_add(self, root):
        (root / "bylaw.toml").write_text('[[book]]\npath = "rules/a.lines"\n')
        put(root, a=A, b=B)
        engine = bylaw.Engine(bylaw.load())
        assert reasons(engine, "curl") == []
        (root / "bylaw.toml").write_text('[[book]]\npath = "rules"\n')
        engine.reload()

        assert (reasons(engine, "shell"), reasons(engine, "curl")) == (["a"], ["b"])

    def test_a_mended_file(self, root):
        put(root, a=BAD, b=B)
        engine = bylaw.Engine(bylaw.load("rules"))
        assert "does not load" in reasons(engine, "ls")[0]
        put(root, a=A)

        assert engine.reload().diagnostics == ()
        assert (reasons(engine, "ls"), reasons(engine, "shell")) == ([], ["a"])

    def test_the_order_is_that_of_a_fresh_load(self, engine, root):
        put(root, a=BAD, c="deny tool shell because c\n", b="deny tool shell because b\n")
        engine.reload()

        assert reasons(engine, "shell") == ["a", "b", "c"]


class TestAFileThatDoesNotLoadAnyMore:
    def test_its_old_rules_stay_and_the_problem_is_reported(self, engine, root):
        put(root, a=BAD, b="deny tool curl because new\n")
        library = engine.reload()

        assert reasons(engine, "shell") == ["a"]
        assert (reasons(engine, "ls"), reasons(engine, "curl")) == ([], ["new"])
        assert codes(library) == [
            ("kept-old-rules", "rules/a.lines"), ("bad-line", "rules/a.lines"),
        ]  # fmt: skip
        assert engine.diagnostics == library.diagnostics
        assert library.diagnostics[0].headline == (
            "the rules of `rules/a.lines` are unchanged until `rules/a.lines` loads"
        )
        assert library.refusals == ()

    def test_however_often_it_is_tried(self, engine, root):
        for text in (BAD, "denny again\n", BAD):
            put(root, a=text)
            engine.reload()
            assert (reasons(engine, "shell"), reasons(engine, "ls")) == (["a"], [])
        put(root, a="deny tool shell because mended\n")

        assert engine.reload().diagnostics == ()
        assert reasons(engine, "shell") == ["mended"]

    def test_a_core_file_keeps_its_rules_too(self, root):
        """TR-A12 holds: the rule is in force all the time."""
        put(root, a=f"core\n{A}", b=B)
        engine = bylaw.Engine(bylaw.load("rules"))
        put(root, a="core\ndenny\n", b="deny tool curl because new\n")
        library = engine.reload()

        assert (reasons(engine, "shell"), reasons(engine, "curl")) == (["a"], ["new"])
        assert codes(library)[1] == ("bad-line", "rules/a.lines")
        assert library.refusals == ()

    def test_all_files_of_a_language(self, engine, root):
        put(root, a=BAD, b=BAD)
        engine.reload()

        assert (reasons(engine, "shell"), reasons(engine, "curl")) == (["a"], ["b"])
        assert reasons(engine, "ls") == []

    def test_a_file_that_cannot_be_read(self, engine, root):
        (root / "rules/a.lines").write_bytes(b"\xff")
        library = engine.reload()

        assert reasons(engine, "shell") == ["a"]
        assert codes(library)[1] == ("not-utf8", "rules/a.lines")

    def test_a_file_that_a_person_named_and_that_is_gone(self, root):
        put(root, a=A)
        engine = bylaw.Engine(bylaw.load("rules/a.lines"))
        (root / "rules/a.lines").unlink()
        library = engine.reload()

        assert reasons(engine, "shell") == ["a"]
        assert codes(library)[1] == ("unreadable-file", "rules/a.lines")

    def test_a_file_that_loads_and_has_no_rules_any_more_is_taken_over(self, engine, root):
        put(root, a="# nothing but words\n")
        engine.reload()

        assert reasons(engine, "shell") == []


class TestAFileThatNeverLoaded:
    def test_it_is_replaced_as_at_the_start(self, engine, root):
        put(root, c=BAD)
        library = engine.reload()

        assert "`rules/c.lines` does not load" in reasons(engine, "ls")[0]
        assert codes(library) == [("bad-line", "rules/c.lines")]

    def test_beside_one_that_keeps_its_rules(self, engine, root):
        put(root, a=BAD, c=BAD)
        engine.reload()
        said = reasons(engine, "shell")

        assert len(said) == 2
        assert "`rules/c.lines` does not load" in said[0]
        assert said[1] == "a"

    def test_one_that_was_broken_from_the_start_stays_so(self, root):
        put(root, a=BAD, b=B)
        engine = bylaw.Engine(bylaw.load("rules"))
        put(root, a="denny again\n", b="deny tool curl because new\n")
        engine.reload()

        assert "does not load" in reasons(engine, "ls")[0]
        assert reasons(engine, "curl")[1] == "new"

    def test_one_that_is_core_leaves_everything_as_it_was(self, engine, root):
        """TR-A12: with it the set must not be used."""
        put(root, a="deny tool shell because new\n", c="core\ndenny\n")
        library = engine.reload()

        assert (reasons(engine, "shell"), reasons(engine, "ls")) == (["a"], [])
        assert [code for code, _ in codes(library)] == ["kept-old-rules", "bad-line"]
        assert library.diagnostics[0].headline == (
            "all rules are unchanged until `rules/c.lines` is fixed"
        )


class TestSettings:
    @pytest.fixture
    def engine(self, root):
        (root / "bylaw.toml").write_text('[[book]]\npath = "rules"\n')
        put(root, a=A)
        return bylaw.Engine(bylaw.load())

    @pytest.mark.parametrize(
        ("settings", "code"),
        [
            ("discovr = true\n", "unknown-setting"),
            ("[[book\n", "toml-syntax"),
            ('[[book]]\npath = "nowhere"\n', "unreadable-file"),
            ('[[book]]\npath = "../a.lines"\n', "outside-root"),
            ('[[book]]\npath = "rules"\ndialect = "linse"\n', "unknown-dialect"),
        ],
    )
    def test_what_does_not_load_leaves_everything_as_it_was(self, engine, root, settings, code):
        (root / "bylaw.toml").write_text(settings)
        put(root, a="deny tool shell because new\n", b=B)
        library = engine.reload()

        assert (reasons(engine, "shell"), reasons(engine, "curl")) == (["a"], [])
        assert {"kept-old-rules", code} <= {found for found, _ in codes(library)}
        (root / "bylaw.toml").write_text('[[book]]\npath = "rules"\n')
        assert engine.reload().diagnostics == ()
        assert (reasons(engine, "shell"), reasons(engine, "curl")) == (["new"], ["b"])

    def test_a_named_folder_without_rules(self, engine, root):
        (root / "rules/a.lines").unlink()
        library = engine.reload()

        assert reasons(engine, "shell") == ["a"]
        assert "no-rule-files" in {code for code, _ in codes(library)}


class TestWhatStays:
    def test_sessions(self, engine, root):
        put(root, a="deny tool shell if count_calls('ls') >= 1 because after ls\n")
        engine.decide(ToolBefore(tool="ls", call="1"))
        engine.decide({"kind": "tool.after", "tool": "ls", "call": "1", "status": "ok"})
        engine.reload()

        assert engine.session.count_calls("ls") == 1
        assert reasons(engine, "shell") == ["after ls"]

    def test_an_unchanged_set_is_not_built_again(self, engine, root):
        before, seq = rule_set(engine), engine.session.seq
        engine.reload()

        assert rule_set(engine) is before
        assert engine.session.seq == seq

    def test_nor_is_one_whose_files_are_as_wrong_as_before(self, engine, root):
        put(root, a=BAD, c=BAD)
        engine.reload()
        before = rule_set(engine)
        library = engine.reload()

        assert rule_set(engine) is before
        assert [code for code, _ in codes(library)] == ["kept-old-rules", "bad-line", "bad-line"]

    def test_a_broken_file_alone_is_no_reason_to_build_it(self, engine, root):
        before = rule_set(engine)
        put(root, a=BAD)
        engine.reload()

        assert rule_set(engine) is before

    def test_a_change_is_told_to_every_session(self, engine, root):
        engine.decide(TurnStart(session="a"))
        seq = engine.sessions["a"].seq
        put(root, a="deny tool shell because new\n")
        engine.reload()

        assert engine.sessions["a"].seq == seq + 1

    def test_the_names_of_files_wherever_the_program_stands(self, root, monkeypatch):
        (root / "bylaw.toml").touch()
        put(root, a=A)
        monkeypatch.chdir(root / "rules")
        engine = bylaw.Engine(bylaw.load("a.lines"))
        monkeypatch.chdir("/")
        before = rule_set(engine)
        library = engine.reload()

        assert rule_set(engine) is before
        assert library.books[0].book.files == ("rules/a.lines",)

    def test_no_paths_are_no_paths(self, root):
        (root / "bylaw.toml").write_text('[[book]]\npath = "rules"\n')
        put(root, a=A)
        engine = bylaw.Engine(bylaw.load([]))

        assert engine.reload().books == ()

    def test_books_of_a_program_cannot_be_loaded_again(self, root):
        put(root, a=A)
        engine = bylaw.Engine(bylaw.load("rules").in_force())

        with pytest.raises(bylaw.BylawError, match="not loaded from files"):
            engine.reload()
        assert engine.diagnostics == ()


class TestHowAGroupIsRead:
    """`first` in a file of the language makes the first match of all its files end the group."""

    def test_a_stand_in_leaves_no_trace_when_it_goes(self, root):
        put(root, a=A, b=BAD)
        engine = bylaw.Engine(bylaw.load("rules"))
        put(root, b=B)
        (fresh,), (again,) = bylaw.load("rules").in_force(), engine.reload().in_force()

        assert fresh.groups[0].procedure == again.groups[0].procedure
        assert fresh.digest == again.digest

    def test_a_stand_in_beside_kept_rules_closes_the_group_as_at_the_start(self, root):
        put(root, a=A, b=f"first\n{B}")
        engine = bylaw.Engine(bylaw.load("rules"))
        put(root, a=BAD, c=BAD)
        engine.reload()

        for _ in range(2):
            (said,) = reasons(engine, "shell")
            assert "`rules/c.lines` does not load" in said

    def test_what_a_broken_file_said_of_all_files_stays_with_all_files(self, root):
        both = "deny tool shell because {}\n"
        put(root, a=f"first\n{both.format('a')}", b=both.format("b"))
        engine = bylaw.Engine(bylaw.load("rules"))
        put(root, a=BAD, b=both.format("new"), c=both.format("c"), d=BAD)
        library = engine.reload()

        said = reasons(engine, "shell")
        assert len(said) == 1
        assert "`rules/d.lines` does not load" in said[0]
        assert library.diagnostics[0].headline == (
            "all rules of `lines` are unchanged until `rules/a.lines` loads"
        )
        (root / "rules/d.lines").unlink()
        engine.reload()
        assert reasons(engine, "shell") == ["a"]
        put(root, a=f"first\n{both.format('mended')}")
        engine.reload()
        assert reasons(engine, "shell") == ["mended"]


@pytest.fixture
def language(monkeypatch):
    """Change the test language for one test."""

    def change(**names):
        for name, value in names.items():
            monkeypatch.setattr(lines, name, value)

    return change


TEXTS = ("deny tool {name} because one\n", "# same\ndeny tool {name} because two\n", BAD, None)
HISTORIES = st.lists(
    st.fixed_dictionaries({name: st.sampled_from(TEXTS) for name in "abc"}), min_size=1, max_size=6
)


@settings(max_examples=60, deadline=None)
@given(HISTORIES)
def test_what_is_in_force_is_the_last_text_that_loaded(history):
    """Each file by itself, whatever the others do: a small model of the whole module."""
    with TemporaryDirectory() as folder:
        put_all(folder, {"z": "deny tool z because z\n"})
        engine = bylaw.Engine(bylaw.load(folder))
        good = {}
        for texts in history:
            put_all(folder, texts)
            library = engine.reload()
            good = {
                name: text if text != BAD else good[name]
                for name, text in texts.items()
                if text not in (BAD, None) or (text == BAD and name in good)
            }
            closed = sorted(
                name for name, text in texts.items() if text == BAD and name not in good
            )
            for name in "abc":
                said = [text for text in reasons(engine, name) if "does not load" not in text]
                assert said == (re.findall("one|two", good[name]) if name in good else [])
            assert len(reasons(engine, "other")) == len(closed)
            broken = [path[-7] for one in library.books for path in one.broken]
            assert broken == closed
            if BAD not in texts.values():
                assert library.in_force()[0].digest == bylaw.load(folder).in_force()[0].digest


def put_all(folder, texts):
    for name, text in texts.items():
        path = Path(folder, f"{name}.lines")
        if text is None:
            path.unlink(missing_ok=True)
        else:
            path.write_text(text.format(name=name))


TOML_RULE = """\
[rule]
id = "{id}"
trigger = "on_turn_start"
{more}
[condition]
expression = "{expression}"
[action]
type = "log"
message = "{message}"
"""


class TestTomlRules:
    @pytest.fixture
    def engine(self, root):
        self.write(root, "a", more="core = true\nenabled = false\n")
        self.write(root, "b")
        return bylaw.Engine(bylaw.load("rules"))

    def write(self, root, name, *, id_="", message="", more="", expression="True"):
        text = TOML_RULE.format(
            id=id_ or name, message=message or name, more=more, expression=expression
        )
        (root / "rules" / f"{name}.toml").write_text(text)

    def log_lines(self, engine):
        decision = engine.decide(TurnStart())
        warned = [reason.file for reason in decision.reasons]
        return sorted(step.text for plan in decision.plans for step in plan.steps), warned

    def test_a_core_rule_is_always_on(self, engine):
        """TR-A11, TR-027, TR-A40"""
        with pytest.raises(bylaw.RuleError, match="`a` is a core rule"):
            engine.disable("a")
        engine.disable("b")

        assert self.log_lines(engine) == (["a"], [])

    def test_one_that_breaks_keeps_its_rule(self, engine, root):
        """TR-A12"""
        self.write(root, "a", expression="nope > 1", more="core = true\n")
        self.write(root, "b", message="new")
        library = engine.reload()

        assert self.log_lines(engine) == (["a", "new"], [])
        assert ("kept-old-rules", "rules/a.toml") in codes(library)

    def test_an_id_that_two_files_have(self, engine, root):
        """TR-A13"""
        self.write(root, "c", id_="b", message="c")
        library = engine.reload()

        assert self.log_lines(engine) == (["a", "b"], ["rules/c.toml"])
        assert [path for code, path in codes(library) if code == "duplicate-rule-id"] == [
            "rules/b.toml", "rules/c.toml",
        ]  # fmt: skip

    def test_the_note_of_an_unchanged_text_changes_nothing(self, engine, root):
        before = rule_set(engine)
        engine.reload()

        assert rule_set(engine) is before


class TestLanguages:
    def test_each_file_a_book_of_its_own(self, root, language):
        language(one_book_per_file=True)
        put(root, a=f"first\n{A}", b=B)
        engine = bylaw.Engine(bylaw.load("rules"))
        before = engine.reload().books
        put(root, a=BAD, b="deny tool curl because new\n", c=BAD)
        library = engine.reload()

        assert library.books[0] is before[0]
        (denied,) = reasons(engine, "ls")
        assert "`rules/c.lines` does not load" in denied
        assert reasons(engine, "shell") == ["a", denied]
        assert reasons(engine, "curl") == ["new", denied]
        assert library.diagnostics[0].headline.startswith(
            "the rules of `rules/a.lines` are unchanged"
        )
        (root / "rules/c.lines").unlink()
        engine.reload()
        assert (reasons(engine, "shell"), reasons(engine, "ls")) == (["a"], [])

    def test_two_files_with_one_id(self, root, language):
        """TR-A13: no silent winner."""
        language(load=load_with_unique_tools)
        put(root, a=A, b=B)
        engine = bylaw.Engine(bylaw.load("rules"))
        put(root, c="deny tool shell because c\n")
        library = engine.reload()

        said = reasons(engine, "shell")
        assert len(said) == 2
        assert "`rules/c.lines` does not load" in said[0]
        assert said[1] == "a"
        assert {path for code, path in codes(library) if code == "unknown-dialect"} == {
            "rules/a.lines", "rules/c.lines",
        }  # fmt: skip

    def test_a_file_that_takes_the_id_of_another(self, root, language):
        language(load=load_with_unique_tools)
        put(root, a=A, b=B)
        engine = bylaw.Engine(bylaw.load("rules"))
        put(root, b="deny tool shell because b\n")
        engine.reload()

        assert (reasons(engine, "shell"), reasons(engine, "curl")) == (["a"], ["b"])
        assert reasons(engine, "ls") == []

    def test_a_file_beside_a_rule_file(self, root, language):
        language(load=load_with_reasons_beside)
        put(root, a="deny tool shell because why.txt\n")
        (root / "rules/why.txt").write_text("one")
        engine = bylaw.Engine(bylaw.load("rules"))
        before = rule_set(engine)
        engine.reload()
        assert (reasons(engine, "shell"), rule_set(engine)) == (["one"], before)
        (root / "rules/why.txt").write_text("two")
        engine.reload()
        assert reasons(engine, "shell") == ["two"]
        (root / "rules/why.txt").unlink()
        library = engine.reload()
        assert reasons(engine, "shell") == ["two"]
        assert codes(library)[0] == ("kept-old-rules", "rules/a.lines")

    def test_one_that_breaks_leaves_everything_as_it_was(self, root, language):
        put(root, a=A)
        engine = bylaw.Engine(bylaw.load("rules"))
        language(load=lambda files: 1 / 0)

        with pytest.raises(bylaw.BylawError, match="failed to load its files"):
            engine.reload()
        assert reasons(engine, "shell") == ["a"]

    def test_what_is_wrong_with_no_file_leaves_everything_as_it_was(self, root, language):
        put(root, a=A)
        engine = bylaw.Engine(bylaw.load("rules"))
        language(load=load_with_an_error_elsewhere)
        put(root, a="deny tool shell because new\n")
        engine.reload()

        assert reasons(engine, "shell") == ["a"]


def load_with_unique_tools(files):
    """A language in which no two files may speak of the same tool."""
    loaded = LOAD(files)
    by_tool = {}
    for rule in loaded.groups[0].rules:
        by_tool.setdefault(rule.filter.tools, []).append(rule.origin.file)
    sources = {file.path: file.source for file in files}
    findings = [
        error(UNKNOWN_DIALECT, f"{tool} twice", sources[path], Span(0, 0))
        for tool, paths in by_tool.items()
        if len(paths) > 1
        for path in paths
    ]
    return LoadResult(loaded.groups, (*loaded.diagnostics, *findings))


def load_with_reasons_beside(files):
    """A language whose reasons are files."""
    loaded = LOAD(files)
    findings = []
    for file, rule in zip(files, loaded.groups[0].rules, strict=True):
        try:
            text = file.beside.read(rule.judgement.reason.text)
            force_setattr(rule.judgement.reason, "text", text)
        except SiblingFileError as wrong:
            findings.append(error(UNKNOWN_DIALECT, str(wrong), file.source, Span(0, 0)))
    return LoadResult(loaded.groups, tuple(findings))


def load_with_an_error_elsewhere(files):
    """A language that finds a fault in a text that is no rule file."""
    loaded = LOAD(files)
    elsewhere = SourceFile("elsewhere", "")
    return LoadResult(loaded.groups, (error(UNKNOWN_DIALECT, "no", elsewhere, Span(0, 0)),))


def test_a_rule_that_is_kept_shares_its_id_with_no_other(tmp_path, monkeypatch):
    """TR-A13, also while an old rule stands in for a file that does not load any more."""
    monkeypatch.chdir(tmp_path)
    rules = tmp_path / "rules"
    rules.mkdir()
    text = '[rule]\nid = "{}"\ntrigger = "on_turn_start"\n[condition]\nexpression = "True"\n[action]\ntype = "log"\n'
    (rules / "a-rule.toml").write_text(text.format("a-rule"))
    (rules / "b-rule.toml").write_text(text.format("b-rule"))
    engine = bylaw.Engine(bylaw.load("rules"))
    (rules / "a-rule.toml").write_text("[rule")
    engine.reload()
    (rules / "b-rule.toml").write_text(text.format("a-rule"))
    engine.reload()

    fired = [plan.rule for plan in engine.decide({"kind": "turn.start"}).plans]
    assert sorted(fired) == ["a-rule", "b-rule"]  # as it was until `a-rule.toml` is mended
    assert "kept-old-rules" in {one.code for one in engine.diagnostics}
