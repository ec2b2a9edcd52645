"""TOML rules: what no page can say, with real files, links, folders and bytes."""

import json
import random
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bylaw
from bylaw.languages import toml_rules
from bylaw.languages.base import RuleFile
from bylaw.languages.toml_rules.actions import FIELDS, TYPE
from bylaw.languages.toml_rules.reader import CONDITION_KEYS, RULE_KEYS, read_rules
from bylaw.model.source import SourceFile
from bylaw.runtime.loader import load_paths, load_root

TURN = {"kind": "turn.start"}


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules").mkdir()
    return tmp_path


def rule(rule_id="a-rule", more="", condition='expression = "True"'):
    return (
        f'[rule]\nid = "{rule_id}"\ntrigger = "on_turn_start"\n{more}\n'
        f'[condition]\n{condition}\n\n[action]\ntype = "log"\n'
    )


def put(root, name, text):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())


def found(library):
    return [(one.code, one.source.path) for one in library.diagnostics]


def fired(library, event=TURN):
    """The rules that wrote to the log, in order."""
    return [plan.rule for plan in bylaw.Engine(library).decide(event).plans]


class TestBytes:
    """TR-001"""

    def test_a_file_that_is_not_utf8_spoils_no_other(self, root):
        put(root, "rules/bad.toml", rule("bad").encode() + b"# \xff\n")
        put(root, "rules/good.toml", rule("good"))
        library = load_paths(["rules"])

        assert found(library) == [("not-utf8", "rules/bad.toml")]
        assert fired(library) == ["good"]

    def test_a_mark_and_line_ends_of_windows_change_nothing(self, root):
        text = rule(more="priority = 0").replace("\n", "\r\n")
        put(root, "rules/a-rule.toml", b"\xef\xbb\xbf" + text.encode())
        library = load_paths(["rules"])
        (problem,) = library.diagnostics

        assert (problem.code, problem.underlined) == ("priority-range", "0")
        assert problem.source.position(problem.span.start).line == 4

    def test_such_a_file_loads(self, root):
        text = rule().replace("\n", "\r\n")
        put(root, "rules/a-rule.toml", b"\xef\xbb\xbf" + text.encode())
        library = load_paths(["rules"])

        assert found(library) == []
        assert fired(library) == ["a-rule"]

    def test_an_empty_file_lacks_everything(self, root):
        put(root, "rules/a-rule.toml", b"")
        codes = [code for code, _ in found(load_paths(["rules"]))]

        assert codes == ["condition-count", "missing-action", "missing-key"]


class TestOrder:
    """TR-021, TR-022, TR-104"""

    def test_files_that_were_made_in_another_order_decide_the_same(self, tmp_path):
        names = [f"r{number}" for number in range(20)]
        texts = {name: rule(name, f"priority = {1 + len(name) % 2}") for name in names}
        seen = []
        for folder, order in (("one", names), ("two", random.Random(5).sample(names, 20))):
            for name in order:
                put(tmp_path / folder, f"rules/{name}.toml", texts[name])
            seen.append(bylaw.Engine(load_root(str(tmp_path / folder))).decide(TURN))

        assert seen[0] == seen[1]
        assert [plan.rule for plan in seen[0].plans] == sorted(names, key=lambda n: (-len(n), n))

    def test_the_order_of_arguments_does_not_matter(self, root):
        for name in ("b", "a", "c"):
            put(root, f"{name}.toml", rule(name))

        assert fired(load_paths(["c.toml", "b.toml", "a.toml"])) == ["a", "b", "c"]

    def test_a_thousand_files(self, root):
        ids = [f"r{number:03}" for number in range(1000)]
        for number, name in enumerate(ids):
            put(root, f"rules/{name}.toml", rule(name, f"priority = {number + 1}"))
        library = load_root(str(root))

        assert found(library) == []
        assert fired(library) == ids[::-1]


class TestOneId:
    """TR-010, TR-A13"""

    def test_each_of_three_files_names_the_two_others(self, root):
        for folder in ("a", "b", "c"):
            put(root, f"{folder}/same.toml", rule("same"))
        library = load_paths(["a", "b", "c"])

        assert [one.headline for one in library.diagnostics] == [
            "duplicate rule id `same`, also in `b/same.toml`, `c/same.toml`",
            "duplicate rule id `same`, also in `a/same.toml`, `c/same.toml`",
            "duplicate rule id `same`, also in `a/same.toml`, `b/same.toml`",
        ]
        assert fired(library) == []

    def test_a_broken_file_takes_no_id_away(self, root):
        put(root, "a/same.toml", rule("same", "priority = 0"))
        put(root, "b/same.toml", rule("same"))
        library = load_paths(["a", "b"])

        assert found(library) == [("priority-range", "a/same.toml")]
        assert fired(library) == ["same"]

    def test_one_file_that_two_folders_lead_to_is_one_rule(self, root):
        put(root, "rules/a-rule.toml", rule())

        assert fired(load_paths(["rules", "rules/a-rule.toml", "./rules"])) == ["a-rule"]


class TestDefaults:
    """TR-011, TR-013, TR-014, TR-018, TR-023, TR-026, TR-028"""

    def test_what_is_not_written(self):
        ((written, problems),) = read_rules([SourceFile("a-rule.toml", rule())])

        assert problems == []
        assert (written.name, written.description, written.version) == ("a-rule", "", "1.0.0")
        assert (written.priority, written.enabled, written.core) == (100, True, False)
        assert written.plugin_id == ""


class TestCore:
    """TR-027, TR-A12"""

    def test_only_a_rule_that_is_not_core_can_be_switched_off(self, root):
        put(root, "rules/core.toml", rule("core", "core = true"))
        put(root, "rules/other.toml", rule("other"))
        engine = bylaw.Engine(load_paths(["rules"]))
        engine.disable("other")

        with pytest.raises(bylaw.RuleError, match="core"):
            engine.disable("core")
        assert [plan.rule for plan in engine.decide(TURN).plans] == ["core"]

    @pytest.mark.parametrize(
        "text",
        [
            rule(more="core = true\npriority = 0"),
            rule(more='core = "true"'),
            rule(more="core = True"),
            rule(more="core=true # always\nname = unquoted"),
            "rule.core = true\nrule.id =\n",
            'rule = { "core" = true\n',
            rule(more="core = true").encode() + b"\xff",
        ],
    )
    def test_nothing_is_in_force_without_a_file_that_may_be_core(self, text, root):
        put(root, "rules/a-rule.toml", text)
        put(root, "rules/other.toml", rule("other"))
        library = load_paths(["rules"])

        assert library.refusals
        with pytest.raises(bylaw.LoadError):
            library.in_force()

    @pytest.mark.parametrize(
        "text",
        [
            rule(more="core = false\npriority = 0"),
            rule(more='core = "false"'),
            rule(more="core = 1"),
            rule(more="core =  false\nname = unquoted"),
            rule(more="# core = true\nname = unquoted"),
            rule(more="not-core = true\nname = unquoted"),
            rule(more="name = unquoted"),
        ],
    )
    def test_any_other_broken_file_leaves_the_rest_in_force(self, text, root):
        put(root, "rules/a-rule.toml", text)
        put(root, "rules/other.toml", rule("other"))
        library = load_paths(["rules"])

        assert library.refusals == ()
        assert fired(library) == ["other"]


class TestNames:
    """TR-A14, TR-A15"""

    def test_a_file_that_the_settings_name_may_have_another_ending(self, root):
        put(root, "bylaw.toml", '[[book]]\npath = "house/a-rule.conf"\ndialect = "toml"\n')
        put(root, "house/a-rule.conf", rule())
        library = load_root(str(root))
        (problem,) = library.diagnostics

        assert problem.code == "rule-file-name"
        assert "`a-rule.conf` is not in kebab-case with the ending `.toml`" in problem.headline
        assert fired(library) == ["a-rule"]

    def test_a_folder_with_the_name_of_a_file_is_no_file(self, root):
        (root / "rules" / "a-rule.toml").mkdir()
        put(root, "rules/other.toml", rule("other"))

        assert fired(load_root(str(root))) == ["other"]


class TestScripts:
    """TR-055, TR-056, TR-057, TR-A03, TR-A37"""

    SCRIPTED = rule(condition='script = "scripts/a.lua"')

    def test_a_path_does_not_begin_at_the_working_directory(self, root, monkeypatch):
        put(root, "house/a-rule.toml", self.SCRIPTED)
        put(root, "house/scripts/a.lua", "return true\n")
        put(root, "elsewhere/scripts/a.lua", "return false\n")
        monkeypatch.chdir(root / "elsewhere")
        library = load_paths(["../house/a-rule.toml"])

        assert found(library) == []
        assert fired(library) == ["a-rule"]

    @pytest.mark.parametrize("linked", ["scripts", "scripts/a.lua"])
    def test_a_link_that_leaves_the_folder_is_refused(self, linked, root):
        put(root, "rules/a-rule.toml", self.SCRIPTED)
        put(root, "outside/scripts/a.lua", "return true\n")
        (root / "rules" / linked).parent.mkdir(exist_ok=True)
        (root / "rules" / linked).symlink_to(root / "outside" / linked)
        library = load_paths(["rules"])
        (problem,) = library.diagnostics

        assert problem.code == "bad-script"
        assert problem.headline.endswith("is a link that leads out of the folder of the rule file")
        assert fired(library) == []

    def test_a_link_that_stays_is_followed(self, root):
        put(root, "rules/a-rule.toml", self.SCRIPTED)
        put(root, "rules/shared/b.lua", "return true\n")
        (root / "rules" / "scripts").mkdir()
        (root / "rules" / "scripts" / "a.lua").symlink_to("../shared/b.lua")

        assert fired(load_paths(["rules"])) == ["a-rule"]

    def test_a_script_that_is_not_text_is_refused(self, root):
        put(root, "rules/a-rule.toml", self.SCRIPTED)
        put(root, "rules/scripts/a.lua", b"\x1bLua\xff")
        (problem,) = load_paths(["rules"]).diagnostics

        assert (problem.code, problem.underlined) == ("bad-script", '"scripts/a.lua"')

    def test_without_lua_such_a_rule_is_refused(self, root):
        put(root, "rules/a-rule.toml", self.SCRIPTED)
        put(root, "rules/scripts/a.lua", "return true\n")
        put(root, "rules/other.toml", rule("other"))
        without = "import sys; sys.modules['lupa'] = None; from bylaw.cli import main; main()"
        command = [sys.executable, "-c", without, "check", "rules", "--format", "json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        told = json.loads(done.stdout)

        assert [one["code"] for one in told["diagnostics"]] == ["no-lua"]
        assert told["books"][0]["rules"] == 1

    def test_where_no_process_can_be_started_the_record_says_so(self, root, monkeypatch):
        put(root, "rules/a-rule.toml", self.SCRIPTED)
        put(root, "rules/scripts/a.lua", "return true\n")
        put(root, "rules/other.toml", rule("other"))
        monkeypatch.setattr(sys, "executable", str(root / "missing"))
        first, second = bylaw.Engine(load_paths(["rules"])).decide(TURN).trace

        assert first.detail == (
            "fact-unknown: in `scripts/a.lua`: the script was not run: it needs Lua and a "
            "separate process"
        )
        assert second.result == "fired"


ODD = st.sampled_from(
    [
        *('"a"', '""', "5", "-1", "1.5", "nan", "true", "[]", '["a"]', "{}", "{ a = 1 }"),
        *('"{{"', '"{{ context.turn.number }}"', '"on_turn_start"', '"log"', '"set_state"'),
        *('"True"', '"a.lua"', "99999999999999999999", '"\\u0000"', '"é"', '"1.0.0"'),
        *("[{ a = 1 }]", "07:32:00", "'''\n'''"),
    ]
)
KEYS = {
    "rule": ("x", *RULE_KEYS),
    "condition": ("x", *CONDITION_KEYS),
    "action": ("x", TYPE, *(field for fields in FIELDS.values() for field in fields)),
}
TABLES = {
    name: st.dictionaries(st.sampled_from(keys), ODD, max_size=6).map(
        lambda table: "{ " + ", ".join(f"{key} = {value}" for key, value in table.items()) + " }"
    )
    for name, keys in KEYS.items()
}
FILES = st.fixed_dictionaries({}, optional={name: ODD | table for name, table in TABLES.items()})


@settings(deadline=None, max_examples=400)
@given(FILES)
def test_any_file_is_a_rule_or_is_refused_with_each_problem_once(tables):
    """TR-005, TR-006"""
    text = "".join(f"{name} = {value}\n" for name, value in tables.items())
    loaded = toml_rules.load([RuleFile(SourceFile("a.toml", text), "digest")])
    problems = [(one.code, one.span, one.headline) for one in loaded.diagnostics]
    refused = any(one.severity == "error" for one in loaded.diagnostics)

    assert len(problems) == len(set(problems))
    assert refused is not any(group.rules for group in loaded.groups)


def test_a_disabled_rule_that_is_wrong_is_refused_all_the_same(root):
    """TR-024, TR-A33: enabling it later must not surprise."""
    put(root, "rules/a-rule.toml", rule(more="enabled = false\npriority = 0"))
    library = load_paths(["rules"])

    assert [one.code for one in library.diagnostics] == ["priority-range"]
    assert [path for book in library.books for path in book.broken] == ["rules/a-rule.toml"]
    written = [one.id for book in library.books for group in book.groups for one in group.rules]
    assert written == []


def test_a_call_ends_once(root):
    """TR-037: a time-out that is told again as a success is no success."""
    put(root, "rules/a-rule.toml", rule().replace("on_turn_start", "on_tool_complete"))
    engine = bylaw.Engine(load_paths(["rules"]))
    ended = {"kind": "tool.after", "tool": "t", "call": "c1"}
    engine.decide({"kind": "tool.before", "tool": "t", "call": "c1"})
    engine.decide({**ended, "status": "timeout"})

    assert engine.decide({**ended, "status": "ok"}).fired == ()
    assert engine.session.calls.all.count == 1
