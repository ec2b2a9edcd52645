"""Law files: every key of the schema, what is refused, where it is underlined, what helps."""

import pytest
from law_rules import (
    FILE_RULE,
    RULE,
    TELL,
    changed,
    doubt,
    found_in,
    law_file,
    of_files,
    read,
    refusal,
    rule_of,
    rules_of,
)

from bylaw.languages.law import action_reader, reader
from bylaw.languages.law.action_reader import ActionType
from bylaw.languages.law.book import duplicate_ids
from bylaw.languages.law.syntax import (
    MAX_LOCK_KEY,
    Category,
    CommandType,
    Field,
    ReleaseLock,
    RequestApproval,
    RunCommand,
    TakeLock,
    TriggerKind,
    WriteBus,
)
from bylaw.model.diagnostic import MAX_ERRORS
from bylaw.model.rule import ApprovalMode
from bylaw.model.vocabulary import Authority, Change, Channel
from bylaw.store.locks import MAX_KEY


def indented(rule):
    first, *rest = rule.splitlines()
    return "\n".join([f"  - {first}", *(f"    {line}" for line in rest)]) + "\n"


def in_file(*rules, version='dsl_version: "0.1"\n'):
    return version + "rules:\n" + "".join(map(indented, rules))


def action(written, after="actions:\n"):
    """A rule without guards whose only action is this one."""
    return f"rule_id: R\npriority: 1\ntrigger: {{kind: bus_input}}\n{after}  - {written}\n"


def assert_refused(text, code, underlined):
    found = refusal(text)
    assert (found.code, found.underlined) == (code, underlined)
    return found


class TestFile:
    """LD-021, LD-108, LD-A35, LD-A36"""

    def test_one_rule_needs_no_version(self):
        assert rule_of(RULE).rule_id == "R-LINT"

    def test_one_rule_may_say_the_version(self):
        assert rule_of('dsl_version: "0.1"\n' + RULE).rule_id == "R-LINT"

    def test_a_list_of_rules_has_their_places(self):
        first, second = rules_of(in_file(RULE, FILE_RULE))

        assert (first.line, first.column, first.last_line) == (3, 5, 20)
        assert (second.line, second.column, second.last_line) == (21, 5, 28)

    def test_a_list_needs_the_version(self):
        (found,) = read(in_file(RULE, version=""))[1]

        assert (found.code, found.underlined) == ("law-missing-key", "rules")
        assert found.headline == "the RULE_DSL file has no `dsl_version`"

    def test_no_rules_are_no_mistake(self):
        assert rules_of('dsl_version: "0.1"\nrules: []\n') == []

    def test_a_version_without_rules_is_no_rule(self):
        found = assert_refused('dsl_version: "0.1"\n', "law-missing-key", "dsl_version")

        assert found.headline == "the RULE_DSL file has no `rules`"

    @pytest.mark.parametrize("version", ["0.1", "0.10", "1"])
    def test_a_number_is_no_version(self, version):
        found = assert_refused(f"dsl_version: {version}\nrules: []\n", "law-version", version)

        assert "quote it" in found.headline
        assert found.help == 'write `dsl_version: "0.1"`'

    @pytest.mark.parametrize("version", ['"0.2"', '"0.10"', '""'])
    def test_another_version_is_not_supported(self, version):
        found = assert_refused(f"dsl_version: {version}\nrules: []\n", "law-version", version)

        assert "unsupported language version" in found.headline

    @pytest.mark.parametrize(("written", "underlined"), [("", "dsl_version"), ("[x]", "[x]")])
    def test_a_version_is_a_text(self, written, underlined):
        assert_refused(f"dsl_version: {written}\nrules: []\n", "law-version", underlined)

    def test_several_documents_are_refused(self):
        assert refusal(f"{RULE}---\n{RULE}").code == "yaml-several-documents"

    def test_a_list_at_the_top_is_refused(self):
        found = assert_refused("- rule_id: R\n", "law-wrong-value", "rule_id: R")

        assert "`rules:`" in found.help

    @pytest.mark.parametrize("rules", ["{}", "R", "3"])
    def test_rules_are_a_list(self, rules):
        assert_refused(f'dsl_version: "0.1"\nrules: {rules}\n', "law-wrong-value", rules)

    def test_a_rule_is_a_mapping(self):
        assert_refused('dsl_version: "0.1"\nrules: [R]\n', "law-wrong-value", "R")

    def test_a_bad_rule_leaves_the_others_readable(self):
        rules, (found,) = read(in_file(RULE, changed("kind: fs_event", "kind: cron", FILE_RULE)))

        assert [rule.rule_id for rule in rules] == ["R-LINT"]
        assert found.underlined == "cron"

    def test_of_very_many_errors_the_first_are_told(self):
        bad = [f"rule_id: R{number}\ncolour: red" for number in range(MAX_ERRORS)]

        assert len(read(in_file(*bad))[1]) == MAX_ERRORS

    @pytest.mark.parametrize("text", ["", "a: [", "a: &b c", "\x07"])
    def test_what_is_no_yaml_is_an_error(self, text):
        assert refusal(text).code.startswith("yaml-")


class TestRuleId:
    """LD-039"""

    def test_it_stands_in_the_rule(self):
        rule = rule_of(RULE)

        assert rule.rule_id == "R-LINT"
        assert RULE[rule.id_span.start : rule.id_span.end] == "R-LINT"

    def test_it_is_required(self):
        found = assert_refused(changed("rule_id: R-LINT\n", ""), "law-missing-key", "priority")

        assert found.headline == "the rule has no `rule_id`"

    @pytest.mark.parametrize("rule_id", ["5", "true", "[a]"])
    def test_it_is_a_text(self, rule_id):
        assert_refused(changed("R-LINT", rule_id), "law-wrong-value", rule_id)

    @pytest.mark.parametrize(
        "rule_id", ['""', '" "', '"a\\nb"', '"a\\u202eb"', '"\\0"', "x" * (reader.MAX_RULE_ID + 1)]
    )
    def test_people_can_say_it(self, rule_id):
        assert_refused(changed("R-LINT", rule_id), "law-rule-id", rule_id)

    def test_the_longest_one(self):
        assert len(rule_of(changed("R-LINT", "x" * reader.MAX_RULE_ID)).rule_id) == 200

    def test_twice_in_one_file(self):
        (first, second) = duplicate_ids(of_files([law_file(in_file(RULE, RULE))]))

        assert first.underlined == second.underlined == "R-LINT"
        assert first.severity == "error"
        assert first.headline == "duplicate rule id `R-LINT`: also used in line 21"
        assert second.headline == "duplicate rule id `R-LINT`: also used in line 3"

    def test_twice_in_two_files(self):
        files = [law_file(RULE, "a.yaml"), law_file(RULE, "b.yaml"), law_file(FILE_RULE, "c.yaml")]
        first, second = duplicate_ids(of_files(files))

        assert (first.source.path, second.source.path) == ("a.yaml", "b.yaml")
        assert first.headline.endswith("line 1 of `b.yaml`")
        assert second.headline.endswith("line 1 of `a.yaml`")

    def test_very_often(self):
        files = [law_file(RULE, f"{number}.yaml") for number in range(9)]

        assert duplicate_ids(of_files(files))[0].headline.endswith("`3.yaml` and 5 more")


class TestPriority:
    """LD-040"""

    @pytest.mark.parametrize("priority", [10, 0, -5, 2**63 - 1, -(2**63)])
    def test_a_whole_number(self, priority):
        assert rule_of(changed("priority: 10", f"priority: {priority}")).priority == priority

    @pytest.mark.parametrize("written", ['"10"', "1.5", "true", "false", "ten", "[1]"])
    def test_nothing_else(self, written):
        text = changed("priority: 10", f"priority: {written}")

        assert "whole number" in assert_refused(text, "law-wrong-value", written).headline

    @pytest.mark.parametrize("written", [str(2**63), str(-(2**63) - 1)])
    def test_it_has_64_bits(self, written):
        assert_refused(changed("priority: 10", f"priority: {written}"), "law-wrong-value", written)

    def test_it_is_required(self):
        assert_refused(changed("priority: 10\n", ""), "law-missing-key", "R-LINT")

    def test_a_key_without_a_value_is_underlined_itself(self):
        assert_refused(changed("priority: 10", "priority:"), "law-wrong-value", "priority")


class TestTrigger:
    """LD-007, LD-041 to LD-046, LD-A08, LD-A09"""

    def test_two_kinds(self):
        assert rule_of(RULE).kind is TriggerKind.BUS_INPUT
        assert rule_of(FILE_RULE).kind is TriggerKind.FS_EVENT

    def test_no_third(self):
        found = assert_refused(changed("bus_input", "cron"), "law-not-a-choice", "cron")

        assert found.help == "use one of `fs_event`, `bus_input`"

    def test_a_slip_is_recognised(self):
        found = assert_refused(changed("bus_input", "bus-input"), "law-not-a-choice", "bus-input")

        assert found.help.startswith("did you mean `bus_input`?")

    def test_trigger_and_kind_are_required(self):
        without = changed(
            'trigger:\n  kind: bus_input\n  match: {paths: ["src/**"], command_types: [exec]}\n', ""
        )

        assert_refused(without, "law-missing-key", "R-LINT")
        assert_refused(changed("  kind: bus_input\n", ""), "law-missing-key", "match")

    def test_without_match_it_is_for_anything(self):
        rule = rule_of(changed('  match: {paths: ["src/**"], command_types: [exec]}\n', ""))

        assert (rule.paths, rule.event_types, rule.command_types) == ((), (), ())

    def test_paths(self):
        text = changed('["src/**"]', '["src/**", "*.{js,ts}", "src/**"]')

        assert rule_of(text).paths == ("src/**", "*.{js,ts}")

    @pytest.mark.parametrize("written", ["src/**", "3", "{a: b}"])
    def test_paths_are_a_list(self, written):
        assert_refused(changed('["src/**"]', written), "law-wrong-value", written)

    def test_paths_are_texts(self):
        assert_refused(changed('["src/**"]', "[src, 3]"), "law-wrong-value", "3")

    @pytest.mark.parametrize(
        ("written", "code", "underlined"),
        [
            ('["src/../x"]', "pattern-outside-root", ".."),
            ("['/src']", "pattern-outside-root", "/"),
            ("[src/a**]", "unsupported-pattern-syntax", "**"),
            ('[""]', "empty-pattern", ""),
            # What is written with an escape is underlined as a whole.
            ('["src\\u002f../x"]', "pattern-outside-root", '"src\\u002f../x"'),
        ],
    )
    def test_a_bad_pattern_is_underlined_where_it_is_bad(self, written, code, underlined):
        assert_refused(changed('["src/**"]', written), code, underlined)

    def test_a_path_has_no_variables(self):
        found = assert_refused(
            changed('["src/**"]', '["src/{name}.ts"]'), "law-path-variable", "{name}"
        )

        assert "`*`" in found.help

    @pytest.mark.parametrize("one", list(Change))
    def test_event_types(self, one):
        assert rule_of(changed("[modified]", f"[{one}]", FILE_RULE)).event_types == (one,)

    def test_no_other_event_type(self):
        found = assert_refused(
            changed("[modified]", "[modified, create]", FILE_RULE), "law-not-a-choice", "create"
        )

        assert found.help.startswith("did you mean `created`?")

    @pytest.mark.parametrize("one", [CommandType.TASK, CommandType.EXEC])
    def test_command_types(self, one):
        assert rule_of(changed("[exec]", f"[{one}]")).command_types == (one,)

    def test_no_other_command_type(self):
        assert_refused(changed("[exec]", "[run]"), "law-not-a-choice", "run")

    def test_each_kind_has_its_own_types(self):
        on_bus = changed("command_types: [exec]", "event_types: [modified]")
        on_file = changed("event_types: [modified]", "command_types: [exec]", FILE_RULE)

        assert_refused(on_bus, "law-wrong-trigger", "event_types")
        found = assert_refused(on_file, "law-wrong-trigger", "command_types")
        assert found.help == "delete it; only `kind: bus_input` has it"

    @pytest.mark.parametrize(("old", "key"), [('["src/**"]', "paths"), ("[exec]", "command_types")])
    def test_an_empty_list_is_a_mistake(self, old, key):
        found = assert_refused(changed(old, "[]"), "law-empty-list", "[]")

        assert found.headline == f"`{key}` is empty"
        assert "match any" in found.help

    def test_an_empty_list_of_event_types_is_one_too(self):
        assert_refused(changed("[modified]", "[]", FILE_RULE), "law-empty-list", "[]")


class TestGuards:
    """LD-047 to LD-051, LD-A09, LD-A10, LD-A31"""

    def test_all_are_optional(self):
        rule = rule_of(action(TELL))

        assert (rule.phases, rule.categories, rule.authorities) == ((), (), ())
        assert (rule.mode, rule.require_lock) == (ApprovalMode.NONE, False)

    def test_phases(self):
        assert rule_of(changed("[2]", "[0, 4, 0]")).phases == (0, 4)

    @pytest.mark.parametrize("written", ["5", "-1", '"2"', "true", "2.0", "x"])
    def test_a_phase_is_0_to_4(self, written):
        assert_refused(changed("[2]", f"[2, {written}]"), "law-wrong-value", written)

    def test_phases_are_a_list(self):
        assert_refused(changed("[2]", "2"), "law-wrong-value", "2")

    @pytest.mark.parametrize("one", list(Category))
    def test_categories(self, one):
        text = changed("[A]", f"[{one}]").replace("  - {type: run_cmd", "  # - {type: run_cmd")

        assert rule_of(text).categories == (one,)

    @pytest.mark.parametrize("written", ["E", "a"])
    def test_no_other_category(self, written):
        assert_refused(changed("[A]", f"[{written}]"), "law-not-a-choice", written)

    @pytest.mark.parametrize(("old", "key"), [("[2]", "phase_in"), ("[A]", "category_in")])
    def test_an_empty_list_is_a_mistake(self, old, key):
        found = assert_refused(changed(old, "[]"), "law-empty-list", "[]")

        assert found.headline == f"`{key}` is empty"

    def test_require_lock(self):
        assert rule_of(RULE).require_lock
        assert not rule_of(changed("require_lock: true", "require_lock: false")).require_lock

    @pytest.mark.parametrize("written", ['"yes"', "yes", "1"])
    def test_require_lock_is_a_switch(self, written):
        assert_refused(
            changed("require_lock: true", f"require_lock: {written}"), "law-wrong-value", written
        )

    @pytest.mark.parametrize("mode", list(ApprovalMode))
    def test_modes(self, mode):
        text = changed(
            "{mode: none, authorities: []}", f"{{mode: {mode}, authorities: [human, antigravity]}}"
        )
        rule = rule_of(text)

        assert rule.mode is mode
        assert rule.authorities == (Authority.HUMAN, Authority.ANTIGRAVITY)

    def test_no_other_mode(self):
        assert_refused(changed("mode: none", "mode: triple"), "law-not-a-choice", "triple")

    def test_an_approval_has_a_mode(self):
        assert_refused(changed("mode: none, ", ""), "law-missing-key", "authorities")

    def test_no_other_authority(self):
        assert_refused(
            changed("authorities: []", "authorities: [cursor]"), "law-not-a-choice", "cursor"
        )

    @pytest.mark.parametrize(
        ("approval", "underlined"),
        [
            ("{mode: single, authorities: []}", "[]"),
            ("{mode: single}", "single"),
            ("{mode: dual, authorities: [human]}", "[human]"),
            ("{mode: dual, authorities: [human, human]}", "[human, human]"),
            ("{mode: dual}", "dual"),
        ],
    )
    def test_an_approval_that_nobody_could_give(self, approval, underlined):
        text = changed("{mode: none, authorities: []}", approval)

        assert "antigravity" in assert_refused(text, "law-authorities", underlined).help

    @pytest.mark.parametrize("mode", ["none", "retroactive"])
    def test_where_nobody_is_asked_nobody_is_listed(self, mode):
        assert rule_of(changed("{mode: none, authorities: []}", f"{{mode: {mode}}}"))

    @pytest.mark.parametrize("guard", ["category_in: [A]", "approval: {mode: none}"])
    def test_a_file_event_has_no_category_and_no_approval(self, guard):
        text = changed("{phase_in: [2]}", f"{{phase_in: [2], {guard}}}", FILE_RULE)

        assert_refused(text, "law-wrong-trigger", guard.partition(":")[0])

    @pytest.mark.parametrize("written", ["[]", "x", "3"])
    def test_guards_are_a_mapping(self, written):
        assert_refused(changed("{phase_in: [2]}", written, FILE_RULE), "law-wrong-value", written)

    def test_guards_without_anything_are_a_mistake(self):
        assert_refused(
            changed("guards: {phase_in: [2]}", "guards:", FILE_RULE), "law-wrong-value", "guards"
        )


class TestUnapproved:
    """LD-069, LD-077"""

    @pytest.mark.parametrize(
        ("categories", "mode", "told"),
        [
            ("[B]", "none", "B"),
            ("[A, C]", "none", "C"),
            ("[B, C, D]", "retroactive", "B and C"),
        ],
    )
    def test_a_command_that_nobody_approves_is_doubted(self, categories, mode, told):
        text = changed("[A]", categories).replace("mode: none", f"mode: {mode}")
        found = doubt(text)

        assert (found.code, found.underlined) == ("law-approval-needed", mode)
        assert f"category {told} need approval" in found.headline
        assert "`mode: single`" in found.help

    def test_without_categories_it_is_for_all_of_them(self):
        assert doubt(changed("  category_in: [A]\n", "")).code == "law-approval-needed"

    def test_without_an_approval_the_categories_are_underlined(self):
        text = changed("[A]", "[B]").replace("  approval: {mode: none, authorities: []}\n", "")

        assert doubt(text).underlined == "[B]"

    def test_without_guards_the_rule_is(self):
        text = action("{type: run_cmd, cmd: npm test, cwd: src, timeout_sec: 1}")

        assert doubt(text).underlined == "R"

    @pytest.mark.parametrize("categories", ["[A]", "[D]", "[A, D]"])
    def test_other_categories_run(self, categories):
        assert rule_of(changed("[A]", categories))

    def test_asking_is_not_executing(self):
        assert rule_of(
            changed("[A]", "[B, C]").replace("  - {type: run_cmd", "  # - {type: run_cmd")
        )

    @pytest.mark.parametrize("mode", ["single", "dual"])
    def test_who_asks_runs(self, mode):
        approval = f"{{mode: {mode}, authorities: [human, antigravity]}}"

        assert rule_of(changed("[A]", "[B, C]").replace("{mode: none, authorities: []}", approval))

    def test_a_file_rule_has_no_category(self):
        text = changed(
            "  - {type: write_bus",
            "  - {type: run_cmd, cmd: npm test, cwd: src, timeout_sec: 1}\n  - {type: write_bus",
            FILE_RULE,
        )

        assert rule_of(text).runs

    def test_a_rule_with_an_error_is_not_doubted(self):
        assert_refused(changed("[A]", "[]"), "law-empty-list", "[]")


class TestActions:
    """LD-052 to LD-058, LD-094, LD-A37"""

    def test_they_keep_their_order(self):
        kinds = [type(one) for one in rule_of(RULE).actions]

        assert kinds == [TakeLock, RunCommand, WriteBus, ReleaseLock]

    def test_the_command(self):
        assert rule_of(RULE).actions[1] == RunCommand(("npm", "run", "lint"), "src", 60)

    @pytest.mark.parametrize("written", ["{}", "x", "3"])
    def test_they_are_a_list(self, written):
        text = f"rule_id: R\npriority: 1\ntrigger: {{kind: bus_input}}\nactions: {written}\n"

        assert_refused(text, "law-wrong-value", written)

    def test_they_are_required(self):
        text = "rule_id: R\npriority: 1\ntrigger: {kind: bus_input}\n"

        assert_refused(text, "law-missing-key", "R")

    def test_without_any_there_would_be_no_evidence(self):
        text = "rule_id: R\npriority: 1\ntrigger: {kind: bus_input}\nactions: []\n"

        assert_refused(text, "law-empty-list", "[]")

    def test_an_action_is_a_mapping(self):
        assert_refused(action("write_bus"), "law-wrong-value", "write_bus")

    def test_five_types(self):
        assert [one.value for one in ActionType] == [
            *("write_processing_lock", "run_cmd", "write_bus", "request_approval", "release_lock")
        ]

    def test_no_sixth(self):
        found = assert_refused(action("{type: http_post}"), "law-not-a-choice", "http_post")

        assert "`run_cmd`" in found.help

    def test_the_type_is_required(self):
        assert_refused(action("{lock_key: x}"), "law-missing-key", "lock_key")

    @pytest.mark.parametrize(
        ("kind", "key"),
        [
            ("write_processing_lock", "lock_key"),
            ("release_lock", "lock_key"),
            *(("run_cmd", key) for key in ("cmd", "cwd", "timeout_sec")),
            *(("write_bus", key) for key in ("channel", "template")),
            *(("request_approval", key) for key in ("channel", "to", "payload_template")),
        ],
    )
    def test_every_key_is_required(self, kind, key):
        whole = {
            "write_processing_lock": "lock_key: x",
            "release_lock": "lock_key: x",
            "run_cmd": "cmd: npm test, cwd: src, timeout_sec: 9",
            "write_bus": "channel: output, template: x",
            "request_approval": "channel: input, to: human, payload_template: x",
        }[kind]
        kept = [part for part in whole.split(", ") if not part.startswith(key)]
        found = refusal(action("{" + ", ".join([f"type: {kind}", *kept]) + "}"))

        assert (found.code, found.underlined) == ("law-missing-key", "type")
        assert found.headline == f"the action `{kind}` has no `{key}`"

    def test_a_key_of_another_type_is_refused(self):
        text = action("{type: release_lock, lock_key: x, cmd: npm test}")

        assert_refused(text, "law-unknown-key", "cmd")

    @pytest.mark.parametrize("written", ["0", "-1", "3601", "1.5", '"60"', "true"])
    def test_time_is_limited(self, written):
        assert_refused(
            changed("timeout_sec: 60", f"timeout_sec: {written}"), "law-wrong-value", written
        )

    @pytest.mark.parametrize("seconds", [1, 3600])
    def test_times(self, seconds):
        text = changed("timeout_sec: 60", f"timeout_sec: {seconds}")

        assert rule_of(text).actions[1].timeout_s == seconds

    @pytest.mark.parametrize("written", ['""', '" "', "/src", "/", "3", '"a\\0b"'])
    def test_a_folder_is_a_path_from_the_root(self, written):
        assert_refused(changed("cwd: src", f"cwd: {written}"), "law-wrong-value", written)

    @pytest.mark.parametrize("written", [".", "src/sub", "src/../lib", "lib", "src-evil"])
    def test_which_folder_is_allowed_is_not_known_at_load(self, written):
        """LD-099: that is an action failure before the start."""
        assert rule_of(changed("cwd: src", f"cwd: {written}")).actions[1].cwd == written

    def test_a_folder_has_no_fields(self):
        assert_refused(changed("cwd: src", 'cwd: "{{path}}"'), "law-interpolation", '"{{path}}"')

    @pytest.mark.parametrize("channel", list(Channel))
    def test_channels(self, channel):
        text = changed("channel: output", f"channel: {channel}")

        assert rule_of(text).actions[2].channel is channel

    def test_only_requests_go_to_the_input(self):
        found = assert_refused(
            changed("channel: output", "channel: input"), "law-not-a-choice", "input"
        )

        assert "`request_approval`" in found.help

    @pytest.mark.parametrize("channel", ["out", "decision"])
    def test_no_other_channel(self, channel):
        assert_refused(
            changed("channel: output", f"channel: {channel}"), "law-not-a-choice", channel
        )

    @pytest.mark.parametrize("to", list(Authority))
    def test_a_request(self, to):
        text = action(
            f'{{type: request_approval, channel: input, to: {to}, payload_template: "{{{{title}}}}"}}'
        )
        (request,) = rule_of(text).actions

        assert isinstance(request, RequestApproval)
        assert request.to is to
        assert request.template.names[0].field is Field.TITLE

    @pytest.mark.parametrize(
        ("channel", "to", "bad"), [("output", "human", 0), ("input", "cursor", 1)]
    )
    def test_no_other_request(self, channel, to, bad):
        text = action(
            f"{{type: request_approval, channel: {channel}, to: {to}, payload_template: x}}"
        )

        assert_refused(text, "law-not-a-choice", (channel, to)[bad])

    @pytest.mark.parametrize("written", ["3", "[x]", "null"])
    def test_a_template_is_a_text(self, written):
        assert_refused(changed('"done {{msg_id}}"', written), "law-wrong-value", written)


class TestLockKeys:
    """LD-094, LD-A24, LD-A40"""

    @pytest.mark.parametrize(
        "key", ["lint", "a.b-c_D9", '"emergency_{{msg_id}}"', '"{{rule_id}}"', ".."]
    )
    def test_plain_names(self, key):
        assert rule_of(action(f"{{type: release_lock, lock_key: {key}}}"))

    @pytest.mark.parametrize(
        "key",
        ["../../x", "a/b", '""', '"a b"', '"a\\0"', "ä", '"{{msg_id}}/x"', "x" * (MAX_KEY + 1)],
    )
    def test_nothing_leaves_the_folder_of_the_locks(self, key):
        assert_refused(action(f"{{type: release_lock, lock_key: {key}}}"), "law-lock-key", key)

    @pytest.mark.parametrize("field", ["exit_code", "error"])
    def test_results_are_not_known(self, field):
        text = action(f'{{type: release_lock, lock_key: "x-{{{{{field}}}}}"}}')

        assert_refused(text, "law-lock-key", f"{{{{{field}}}}}")

    def test_an_unknown_field_is_doubted(self):
        found = doubt(action('{type: release_lock, lock_key: "lint_{{path_slug}}"}'))

        assert (found.code, found.underlined) == ("law-unknown-field", "{{path_slug}}")

    def test_as_long_as_the_name_of_a_lock(self):
        assert MAX_LOCK_KEY == MAX_KEY

    def test_a_required_lock_is_taken_first(self):
        text = changed("  - {type: write_processing_lock, lock_key: lint}\n", "")
        found = assert_refused(text, "law-lock-first", "run_cmd")

        assert "`require_lock: false`" in found.help

    def test_taken_later_is_too_late(self):
        lock = "  - {type: write_processing_lock, lock_key: lint}\n"
        text = changed(lock, "").replace(
            "  - {type: write_bus, channel: output", lock + "  - {type: write_bus, channel: output"
        )

        assert_refused(text, "law-lock-first", "run_cmd")


class TestAfterAnError:
    """LD-059, LD-A27"""

    def test_it_is_optional(self):
        assert rule_of(action(TELL)).on_error == ()
        assert [type(one) for one in rule_of(RULE).on_error] == [WriteBus, ReleaseLock]

    def test_it_may_be_empty(self):
        assert rule_of(action(TELL) + "on_error: []\n").on_error == ()

    @pytest.mark.parametrize(
        "written",
        [
            "{type: run_cmd, cmd: npm test, cwd: src, timeout_sec: 9}",
            "{type: write_processing_lock, lock_key: x}",
            "{type: request_approval, channel: input, to: human, payload_template: x}",
        ],
    )
    def test_it_starts_nothing(self, written):
        kind = written.partition("type: ")[2].partition(",")[0]

        assert_refused(action(TELL) + f"on_error: [{written}]\n", "law-misplaced-action", kind)

    @pytest.mark.parametrize("written", ["{}", "x"])
    def test_it_is_a_list(self, written):
        assert_refused(action(TELL) + f"on_error: {written}\n", "law-wrong-value", written)


class TestUnknownKeys:
    """LD-060: an ignored guard would fail open"""

    @pytest.mark.parametrize(
        ("old", "new", "meant"),
        [
            ("guards:", "gaurds:", "guards"),
            ("rule_id:", "rule-id:", "rule_id"),
            ("kind:", "knd:", "kind"),
            ("paths:", "path:", "paths"),
            ("phase_in:", "phases_in:", "phase_in"),
            ("mode:", "modus:", "mode"),
            ("cwd:", "cdw:", "cwd"),
            ("on_error:", "on_eror:", "on_error"),
        ],
    )
    def test_they_are_refused_with_what_was_meant(self, old, new, meant):
        found = [one for one in read(changed(old, new))[1] if one.code == "law-unknown-key"]

        assert [one.underlined for one in found] == [new.rstrip(":")]
        assert found[0].help == f"did you mean `{meant}`?"

    @pytest.mark.parametrize("key", ["3", "true", "null", '"x y"'])
    def test_whatever_they_are(self, key):
        assert_refused(f"{RULE}{key}: x\n", "law-unknown-key", key)

    def test_rules_in_a_rule(self):
        assert "law-unknown-key" in [one[1] for one in found_in(f"{RULE}rules: []\n")]


class TestContinue:
    """LD-061"""

    @pytest.mark.parametrize(("written", "goes_on"), [("true", True), ("false", False)])
    def test_a_switch(self, written, goes_on):
        assert rule_of(f"{RULE}continue: {written}\n").goes_on is goes_on

    def test_it_is_off(self):
        assert not rule_of(RULE).goes_on

    @pytest.mark.parametrize("written", ['"yes"', "yes", "1"])
    def test_nothing_else(self, written):
        assert_refused(f"{RULE}continue: {written}\n", "law-wrong-value", written)


class TestRequests:
    """LD-107, LD-A16"""

    def test_a_rule_on_requests_may_tell(self):
        text = changed(
            "trigger: {kind: bus_input}",
            "trigger: {kind: bus_input, match: {command_types: [approval_request]}}",
            action(TELL),
        )

        assert rule_of(text).command_types == (CommandType.APPROVAL_REQUEST,)

    @pytest.mark.parametrize(
        "written",
        [
            "{type: run_cmd, cmd: npm test, cwd: src, timeout_sec: 9}",
            "{type: request_approval, channel: input, to: human, payload_template: x}",
            "{type: write_processing_lock, lock_key: x}",
            "{type: release_lock, lock_key: x}",
        ],
    )
    def test_it_does_nothing_else(self, written):
        kind = written.partition("type: ")[2].partition(",")[0]
        text = changed(
            "trigger: {kind: bus_input}",
            "trigger: {kind: bus_input, match: {command_types: [task, approval_request]}}",
            action(written),
        )

        assert_refused(text, "law-misplaced-action", kind)

    def test_without_command_types_it_simply_never_gets_one(self):
        text = action("{type: request_approval, channel: input, to: human, payload_template: x}")

        assert rule_of(text).command_types == ()


class TestFields:
    """LD-105, LD-A20"""

    @pytest.mark.parametrize("field", [one for one in Field if one not in (Field.PATH, Field.TYPE)])
    def test_fields_of_a_message(self, field):
        assert rule_of(changed('"done {{msg_id}}"', f'"{{{{{field}}}}}"'))

    @pytest.mark.parametrize(
        "field", ["path", "type", "phase", "rule_id", "ts", "exit_code", "error"]
    )
    def test_fields_of_a_file_event(self, field):
        assert rule_of(changed('"saw {{path}} {{type}}"', f'"{{{{{field}}}}}"', FILE_RULE))

    @pytest.mark.parametrize("field", ["path", "type"])
    def test_a_message_has_no_path(self, field):
        found = doubt(changed('"done {{msg_id}}"', f'"{{{{ {field} }}}}"'))

        assert (found.code, found.underlined) == ("law-field-without-value", f"{{{{ {field} }}}}")
        assert found.headline == f"a message has no `{field}`"
        assert "`msg_id`" in found.help

    @pytest.mark.parametrize("field", sorted(action_reader.MESSAGE_FIELDS))
    def test_a_file_event_has_no_message(self, field):
        found = doubt(changed('"saw {{path}} {{type}}"', f'"{{{{{field}}}}}"', FILE_RULE))

        assert found.headline == f"a file event has no `{field}`"

    def test_an_unknown_field_is_underlined(self):
        found = doubt(changed("done {{msg_id}}", "done {{msg_id}} {{msg-id}}"))

        assert (found.code, found.underlined) == ("law-unknown-field", "{{msg-id}}")
        assert found.help == "did you mean `msg_id`?"

    def test_in_a_block_of_text_the_block_is(self):
        text = action(TELL).replace(
            TELL,
            "type: write_bus\n    channel: output\n    template: |\n      one\n      {{secret}}",
        )

        assert doubt(text).underlined.startswith("|")
