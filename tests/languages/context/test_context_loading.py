"""Documents of the context language: phases, schemas, names, types, values, and their errors."""

import pytest
from context_documents import (
    SEED,
    block,
    codes,
    initial_state,
    loaded,
    module,
    payload,
    problems,
    told,
)

from bylaw.languages.context.lowering import lower_document
from bylaw.languages.context.types import MAX_INT, MAX_TYPE_CHARS
from bylaw.model.codes import Code
from bylaw.model.codes import context as context_codes
from contract_texts import DOC


def state(type_, *lines, name="s"):
    return block("STATE", f"name: {name}", f"type: {type_}", *lines)


def command(effects, args="", name="c"):
    return block(
        "COMMAND", f"name: {name}", *([f"args: {args}"] if args else []), f"effects: {effects}"
    )


def sets(value, type_="String", args=""):
    """A module whose command sets one variable."""
    return module(state(type_), command(f"{{set_state: [{{name: s, value: {value}}}]}}", args))


class TestPhases:
    """AC-A16: framing, YAML, schema, uniqueness, references, types; then the order of the text"""

    STEPS = (
        ("types", "SCHEMA_VIOLATION", state("Int", 'default: "1"')),
        ("references", "UNKNOWN_ID", state("Nope", name="t")),
        ("uniqueness", "SCHEMA_VIOLATION", "\n".join([state("Int", name="u")] * 2)),
        ("schema", "SCHEMA_VIOLATION", state("Int", "colour: red", name="v")),
        ("YAML", "PARSE_ERROR", block("STATE", "name: [")),
        ("framing", "PARSE_ERROR", "[[OTHER]]"),
    )

    @pytest.mark.parametrize("last", range(1, len(STEPS) + 1))
    def test_an_earlier_phase_is_told_before_what_stands_first(self, last):
        # Each text holds the mistakes of all later phases before its own.
        steps = self.STEPS[:last]
        lines = [one.place.line for one in problems(module(*(text for *_, text in steps)))]
        _, code, own = steps[-1]
        before = 3 + sum(text.count("\n") + 1 for *_, text in steps[:-1])

        assert codes(module(*(text for *_, text in steps)))[0] == code
        assert all(before < line <= before + 1 + own.count("\n") for line in lines)

    def test_a_body_that_breaks_its_schema_hides_no_yaml_that_is_none(self):
        not_yaml = block("STATE", "name: [")

        assert codes(module(block("ENUM", "- a"), not_yaml)) == ["PARSE_ERROR"]
        twice = block("ENUM", "name: A", "name: B", "values: [a]")
        assert codes(module(twice, not_yaml)) == ["PARSE_ERROR"]
        assert codes(module(twice)) == ["SCHEMA_VIOLATION"]

    def test_a_key_that_is_no_text_is_told_before_schemas(self):
        unknown = block("ENUM", "name: E", "values: [a]", "colour: red")
        keyed = block("RESPONSE", "responses: [{id: r, 1: x}]")

        assert codes(module(unknown, keyed)) == ["INVALID_YAML"]
        assert told(module(state("Map<String, Int>", "default: {1: 2}"))) == (
            "SCHEMA_VIOLATION", "STATE", "s", 7,
        )  # fmt: skip


class TestPlaces:
    """AC-129: an error names the block, its id and the line"""

    def test_an_unknown_key_stands_in_something_with_a_name(self):
        rule = "[{id: r, check: {preset: no_browsing}, severity: warn}]"
        protocols = block("PROTOCOL", "protocols:", f"  - {{id: p, rules: {rule}}}")

        assert told(module(protocols)) == ("SCHEMA_VIOLATION", "PROTOCOL", "p.r", 6)
        assert told(module(state("Int", "colour: red"))) == ("SCHEMA_VIOLATION", "STATE", "s", 7)

    def test_prose_in_a_body_has_its_own_line(self):
        text = module(block("ENUM", "name: E", "and prose", "", "values: [a]"))

        assert told(text) == ("PARSE_ERROR", "ENUM", "", 6)


class TestUniqueness:
    """AC-049 to AC-056, AC-A15"""

    def test_one_id_in_two_forms_is_given_twice(self):
        text = DOC.replace("protocols: [p1]", "protocols: [p1, m.p1]")

        assert told(text) == ("DUPLICATE_ID", "COMMAND", "guard", 39)
        both = "{set_state: [{name: s, value: 1}, {name: m.s, value: 2}]}"
        assert codes(module(state("Int"), command(both))) == ["DUPLICATE_ID"]

    def test_the_first_is_named_with_its_file(self):
        (found,) = problems(DOC, module())

        assert found.message == "`m` is already a module, in line 2 of `a.md`"
        (found,) = problems(module(state("Int"), state("Int")))
        assert found.message == "`s` is already a state of `m`, in line 5"


class TestTypes:
    """AC-064 to AC-066, AC-A19, AC-A20, AC-A44"""

    @pytest.mark.parametrize(
        ("default", "fits"),
        [("[[1, 2], [1]]", True), ("[[1, 2], [2, 1]]", False), ("[[], []]", False)],
    )
    def test_sets_in_sets_are_compared_as_sets(self, default, fits):
        text = module(state("Set<Set<Int>>", f"default: {default}"))

        assert codes(text) == ([] if fits else ["SCHEMA_VIOLATION"])

    def test_lists_in_sets_have_an_order(self):
        text = module(state("Set<List<Int>>", "default: [[1, 2], [2, 1]]"))

        assert initial_state(loaded(text)) == {"m.s": [[1, 2], [2, 1]]}

    def test_maps_in_sets_have_none(self):
        text = module(state("Set<Map<String, Int>>", "default: [{a: 1, b: 2}, {b: 2, a: 1}]"))

        assert codes(text) == ["SCHEMA_VIOLATION"]

    @pytest.mark.parametrize("name", ["Bool", "Int", "String", "List", "Set", "Map"])
    def test_no_enum_is_called_like_a_type(self, name):
        assert codes(module(block("ENUM", f"name: {name}", "values: [a]"))) == ["SCHEMA_VIOLATION"]

    def test_a_long_type_is_refused_before_it_is_read(self):
        many = "X<" + "A," * MAX_TYPE_CHARS + "A>"

        (found,) = problems(module(state(f'"{many}"')))
        assert found.message.endswith("it has more than 1,000 characters")

    def test_the_largest_int(self):
        assert loaded(module(state("Int", f"default: {MAX_INT}")))
        (found,) = problems(module(state("Int", f"default: {MAX_INT + 1}")))
        assert "an Int is at most 9,007,199,254,740,991" in found.message

    def test_of_many_values_some_are_listed(self):
        values = ", ".join(f"v{number}" for number in range(100))
        text = module(block("ENUM", "name: E", f"values: [{values}]"), state("E", "default: x"))
        (found,) = problems(text)

        assert found.message.endswith("v18, v19 and 80 more")


class TestValues:
    """AC-116 to AC-123, AC-A35"""

    TWO = "{kind: positional, positional: [{name: a, type: String}, {name: b, type: String}]}"

    @pytest.mark.parametrize(
        "value", ["$arg01", "$arg00", "$arg2", "$arg", "$a", "$arg" + "1" * 5_000]
    )
    def test_an_argument_has_one_number(self, value):
        assert codes(sets(value, args=self.TWO)) == ["REFERENCE_ERROR"]
        assert codes(sets(f'"x${{{value}}}"', args=self.TWO)) == ["REFERENCE_ERROR"]

    @pytest.mark.parametrize(
        "text", ["${", "a ${$arg0", "${$arg0} ${", "${}", "${${$arg0}}", "${ $arg0}"]
    )
    def test_a_placeholder_holds_one_reference(self, text):
        assert codes(sets(f'"{text}"', args=self.TWO)) == ["REFERENCE_ERROR"]

    @pytest.mark.parametrize("text", ["a$b", "$ 5", "$5", "$", "}", "a}b", "$}", "{$arg0}"])
    def test_a_sign_alone_is_text(self, text):
        assert codes(sets(f'"{text}"', args=self.TWO)) == []


class TestWorkflows:
    """AC-A39"""

    def test_everything_that_is_missing_is_counted(self):
        workflow = block(
            "WORKFLOW",
            "workflows:",
            "  - id: w",
            "    steps: [{kind: emit_response, ref: r1}, {kind: enforce_protocol, ref: p1}]",
        )
        text = DOC.replace(
            "[[/MODULE]]", f"{workflow}\n{command('{enable: {workflows: [w]}}')}\n[[/MODULE]]"
        )

        assert payload(text) == (
            "ERROR: ai-context-language\n"
            "code: REFERENCE_ERROR\n"
            "message: \"workflow 'w' refers to 'm.p1' and 1 more, which the command does not enable\"\n"
            "details:\n"
            "  block_type: COMMAND\n"
            "  id: c\n"
            "  line: 48\n"
            "hint: \"also enable 'm.p1'\""
        )


class TestNames:
    """AC-A18"""

    def test_a_name_that_nobody_can_read(self):
        assert loaded(module(state("Int", name="s" * 200)))
        assert codes(module(state("Int", name="s" * 201))) == ["SCHEMA_VIOLATION"]


class TestRules:
    """AC-176 to AC-186"""

    def test_every_rule_has_a_name_of_its_own(self):
        text = module(
            block("RESPONSE", "responses: [{id: p, constraints: {must_include: [x]}}]"),
            block(
                "PROTOCOL",
                "protocols: [{id: p, rules: [{id: c, check: {preset: no_file_output}}]}]",
            ),
            command("{enable: {protocols: [p]}}", name="p"),
        )
        groups = lower_document(loaded(text), {})
        rules = [rule for group in groups for rule in group.rules]

        assert len(rules) == 7
        assert len({rule.uid for rule in rules}) == len(rules)
        assert [rule.about["check"] for rule in rules if "check" in rule.about] == [
            "forbid_block FILE",
            "forbid_block ARTIFACT",
            "forbid_block DOWNLOAD",
            "forbid_tool python_user_visible.exec",
            "forbid_tool container.download",
        ]


def test_the_codes_are_those_of_the_document():
    """AC-133"""
    seed = SEED.read_text(encoding="utf-8")
    listed = seed[seed.index("error_codes:") :].partition("\n\n")[0].split("\n")[1:]
    ours = {code.name for code in vars(context_codes).values() if isinstance(code, Code)}

    assert ours == {line.strip(" -") for line in listed}
    assert len(ours) == 9
