"""Reading policy files: front matter, keys, modes, patterns, traps of YAML."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from policy_texts import (
    API,
    PAIRING,
    README,
    policy,
    policy_of,
    policy_text,
    read,
    refusal,
    refusals,
)

from bylaw.languages.file_policies.key_readers import MAX_PATTERNS
from bylaw.languages.file_policies.reader import MAX_BODY, body_text, split_policy
from bylaw.languages.file_policies.syntax import CompareTo, Mode, RunFor
from bylaw.model.errors import PolicyError
from bylaw.model.source import SourceFile

PATTERN_KEYS = ("trigger", "safety", "created")


class TestTheDocument:
    """DW-108, DW-109, DW-111, DW-112, DW-140"""

    def test_its_policy_file(self):
        made = policy_of(README, ".deepwork/policies/readme-accuracy.md")
        assert (made.id, made.title, made.mode) == (
            "readme-accuracy",
            "README Accuracy",
            Mode.TRIGGER,
        )
        assert (made.trigger, made.safety) == (("src/**/*.py",), ("README.md",))
        assert len(made.body.splitlines()) == 3
        assert made.last_line == 8

    def test_its_conversion_example(self):
        text = policy_text(
            "trigger: src/**/*\nsafety: README.md", "Please verify README.md is accurate.\n"
        )
        made = policy_of(text, "readme-accuracy.md")
        assert (made.id, made.title) == ("readme-accuracy", "readme-accuracy")
        assert made.body == "Please verify README.md is accurate."

    def test_set_and_pair(self):
        assert policy_of(PAIRING).trigger == ("src/{path}.py", "tests/{path}_test.py")
        made = policy_of(API)
        assert (made.trigger, made.expects) == (("api/{path}.py",), ("docs/api/{path}.md",))

    def test_its_command(self):
        action = policy(
            'trigger: "**/*.py"\naction:\n  command: "ruff format {file}"\n  run_for: each_match',
            "",
        ).action
        assert action.words == ("ruff", "format", "{file}")
        assert (action.command, action.run_for) == ("ruff format {file}", RunFor.EACH_MATCH)


class TestFrontMatter:
    """DW-109"""

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "trigger: x\n",
            "\n---\ntrigger: x\n---\nbody",
            "----\ntrigger: x\n---\nbody",
            "---\ntrigger: x\n",
            "---\ntrigger: x\n----\nbody",
            "---\ntrigger: x\n---foo\nbody",
            "---\ntrigger: x\n --- \nbody",
            "--- trigger: x\n---\n",
        ],
    )
    def test_there_is_none(self, text):
        made, (found,) = read(text)
        assert made is None
        assert found.code == "policy-front-matter"
        with pytest.raises(PolicyError):
            split_policy(SourceFile("p.md", text))

    @pytest.mark.parametrize(
        "text",
        [
            "---\ntrigger: x\n---\nCheck it.\n",
            "\ufeff---\ntrigger: x\n---\nCheck it.",
            "---\r\ntrigger: x\r\n---\r\nCheck it.\r\n",
            "--- \t\ntrigger: x\n---  \n\n \nCheck it.\n\n",
        ],
    )
    def test_line_ends_and_blanks_mean_nothing(self, text):
        made = policy_of(text)
        assert (made.trigger, made.body) == (("x",), "Check it.")

    def test_the_first_closing_line_counts(self):
        assert (
            policy_of("---\ntrigger: x\n---\nabove\n\n---\nbelow\n").body == "above\n\n---\nbelow"
        )

    def test_four_dashes_in_the_yaml_end_nothing(self):
        made = policy_of("---\nname: |\n  ----\ntrigger: x\n---\nbody")
        assert (made.title, made.trigger) == ("----", ("x",))

    def test_an_indented_first_line_of_the_body_stays(self):
        assert policy("trigger: x", "\n    code\n").body == "    code"

    def test_empty_front_matter(self):
        made, (found,) = read("---\n---\nbody")
        assert (made, found.code) == (None, "yaml-empty")

    def test_a_list_is_none(self):
        assert refusal("- trigger: x").code == "policy-wrong-value"

    lines = st.text(alphabet="ab:- #{}\t", max_size=12).filter(lambda line: line.strip() != "---")

    @given(st.lists(lines, max_size=5), st.text(alphabet="ab-\n {}", max_size=30))
    def test_round_trip(self, yaml, body):
        head = "".join(f"{line}\n" for line in yaml if not line.startswith("---"))
        source = SourceFile("p.md", f"---\n{head}---\n{body}")
        parts = split_policy(source)
        assert source.slice(parts.yaml) == head
        assert source.slice(parts.closing) == "---"
        assert source.slice(parts.body) == body
        assert body_text(source, parts.body).strip() == body.strip()


class TestModes:
    """DW-001, DW-007, DW-012, DW-016, DW-A09, DW-A10, DW-A11"""

    def test_each_alone(self):
        for keys, mode in (
            ("trigger: src/**/*.py", Mode.TRIGGER),
            ("set: [a, b]", Mode.SET),
            ("pair: {trigger: a, expects: b}", Mode.PAIR),
            ("created: src/**", Mode.CREATED),
        ):
            assert policy(keys).mode is mode

    def test_none(self):
        assert refusals("safety: README.md") == [("policy-mode", "safety")]
        assert refusals("name: x") == [("policy-mode", "name")]

    def test_two(self):
        assert refusals("trigger: a\nset: [a, b]") == [("policy-mode", "set")]
        assert refusals("pair: {trigger: a, expects: b}\ncreated: a") == [
            ("policy-mode", "created")
        ]

    @pytest.mark.parametrize(
        "mode", ["set: [a, b]", "pair: {trigger: a, expects: b}", "created: a"]
    )
    def test_safety_belongs_to_trigger_alone(self, mode):
        assert refusals(f"{mode}\nsafety: README.md") == [("policy-misplaced-safety", "safety")]

    def test_texts_and_lists(self):
        made = policy("trigger: [src/**/*.py, lib/**/*.py]\nsafety: [a, a, b]")
        assert (made.trigger, made.safety) == (("src/**/*.py", "lib/**/*.py"), ("a", "b"))
        assert policy("created: [a, b]").trigger == ("a", "b")

    @pytest.mark.parametrize("value", ["5", "true", "null", "[]", "[5]", "[[a]]", "{a: b}", ""])
    @pytest.mark.parametrize("key", PATTERN_KEYS)
    def test_other_values(self, key, value):
        keys = f"{key}: {value}" if key != "safety" else f"trigger: x\nsafety: {value}"
        assert refusal(keys).code == "policy-wrong-value"

    def test_too_many_patterns(self):
        listed = ", ".join(f"a{n}" for n in range(MAX_PATTERNS + 1))
        assert refusal(f"trigger: [{listed}]").code == "policy-wrong-value"

    @pytest.mark.parametrize("value", ["[a]", "[a, a]"])
    def test_a_set_needs_two_patterns(self, value):
        assert refusal(f"set: {value}").code == "policy-set-size"

    @pytest.mark.parametrize("value", ["a", "5", "[]", "{a: b}", "[a, 5]"])
    def test_a_set_is_a_list(self, value):
        assert refusal(f"set: {value}").code == "policy-wrong-value"

    @pytest.mark.parametrize(
        ("value", "code"),
        [
            ("{trigger: a}", "policy-missing-key"),
            ("{expects: a}", "policy-missing-key"),
            ("{trigger: a, expects: b, safety: c}", "policy-unknown-key"),
            ("{trigger: [a, b], expects: b}", "policy-wrong-value"),
            ("{trigger: a, expects: []}", "policy-wrong-value"),
            ("[a, b]", "policy-wrong-value"),
        ],
    )
    def test_a_pair_has_a_trigger_and_what_it_expects(self, value, code):
        assert refusal(f"pair: {value}").code == code

    def test_a_pair_may_expect_several(self):
        assert policy("pair: {trigger: a, expects: [b, c]}").expects == ("b", "c")


class TestKeys:
    """DW-017, DW-053, DW-112, DW-114, DW-115, DW-139, DW-A12, DW-A31"""

    def test_an_unknown_key_is_refused(self):
        found = refusal("triger: x")
        assert (found.code, found.underlined) == ("policy-unknown-key", "triger")
        assert "did you mean `trigger`" in found.help

    @pytest.mark.parametrize("key", ["instructions", "instructions_file"])
    def test_the_old_keys_lead_to_the_body(self, key):
        found = refusal(f"trigger: x\n{key}: y")
        assert (found.code, found.underlined) == ("policy-unknown-key", key)
        assert "below the second `---`" in found.help

    def test_compare_to(self):
        assert policy("trigger: x").compare_to is CompareTo.BASE
        for one in CompareTo:
            assert policy(f"trigger: x\ncompare_to: {one}").compare_to is one
        assert refusals("trigger: x\ncompare_to: yesterday") == [
            ("policy-not-a-choice", "yesterday")
        ]

    def test_without_an_action_the_body_is_shown(self):
        made = policy("trigger: x")
        assert (made.action, made.body) == (None, "Check it.")

    @pytest.mark.parametrize("body", ["", "\n", "  \n\t\n"])
    def test_a_prompt_needs_a_body(self, body):
        assert refusals("trigger: x", body) == [("policy-no-body", "---")]

    def test_a_command_needs_none(self):
        assert policy("trigger: x\naction: {command: 'fmt {file}'}", "").body == ""

    def test_a_body_has_an_end(self):
        assert refusal("trigger: x", "x" * (MAX_BODY + 1)).code == "policy-wrong-value"

    @pytest.mark.parametrize("title", ["''", "'  '", '"a\\nb"', '"\\u202e"', "5", "[a]"])
    def test_a_title_is_one_line_that_can_be_read(self, title):
        assert refusal(f"trigger: x\nname: {title}").code == "policy-wrong-value"

    @pytest.mark.parametrize("name", ["a:b", "a<b", "\u202eb", " a", "x" * 201])
    def test_a_file_name_that_is_no_identifier(self, name):
        made, (found,) = read(policy_text("trigger: x"), f"policies/{name}.md")
        assert (made, found.code) == (None, "policy-identifier")

    @pytest.mark.parametrize("name", ["readme-accuracy", "v1.2", "ä", "a b"])
    def test_other_names_are_fine(self, name):
        assert policy("trigger: x", name=name).id == name

    def test_files_of_nothing_are_never_expected(self):
        made, (found,) = read(policy_text("trigger: x", "See {expected_files}.\n"))
        assert made is not None
        assert (found.severity, found.code) == ("warning", "policy-nothing-expected")
        assert found.underlined == "{expected_files}"


class TestPatterns:
    """DW-013, DW-035 to DW-040, DW-A03 to DW-A05, DW-A08"""

    @pytest.mark.parametrize(
        ("text", "code"),
        [
            ("src/{path.py", "unbalanced-brace"),
            ("src/path}.py", "unbalanced-brace"),
            ("src/{{path}.py", "unbalanced-brace"),
            ("src/{my-var}.py", "invalid-variable-name"),
            ("src/{1a}.py", "invalid-variable-name"),
            ("src/{}.py", "invalid-variable-name"),
            ("src/{path/name}.py", "invalid-variable-name"),
            ("src/[ab].py", "unsupported-pattern-syntax"),
            ("!src/x", "unsupported-pattern-syntax"),
            ("src/{a,{b,c}}.py", "nested-brace"),
            ("{path}/{path}.py", "repeated-variable"),
            ("{path}{name}.py", "adjacent-variables"),
            ("/src/a.py", "pattern-outside-root"),
            ("src/../a.py", "pattern-outside-root"),
            ("", "empty-pattern"),
            ("*.{js,}", "bad-alternative"),
        ],
    )
    def test_what_is_wrong_is_found_at_load(self, text, code):
        for keys in (
            f"trigger: '{text}'",
            f"trigger: x\nsafety: '{text}'",
            f"created: ['{text}']",
            f"set: [x, '{text}']",
            f"pair: {{trigger: x, expects: '{text}'}}",
        ):
            assert {found for found, _ in refusals(keys)} == {code}

    def test_file_key_and_pattern_are_named(self):
        made, (found,) = read(policy_text("trigger: src/{path.py"), "bad.md")
        assert made is None
        assert found.source.path == "bad.md"
        assert found.headline == "`trigger: src/{path.py`: unbalanced brace: `{` is never closed"
        place = found.source.position(found.span.start)
        assert (place.line, place.column, found.underlined) == (2, 14, "{")

    def test_in_a_pair_and_with_escapes(self):
        found = refusal('pair:\n  trigger: x\n  expects: "a\\u002f{b.md"')
        assert found.headline.startswith("`pair.expects: a/{b.md`:")
        assert found.underlined == '"a\\u002f{b.md"'

    def test_every_bad_pattern_is_told(self):
        assert refusals("trigger: ['{a', b, '}c']\nsafety: '{d'") == [
            ("unbalanced-brace", "{"),
            ("unbalanced-brace", "}"),
            ("unbalanced-brace", "{"),
        ]

    def test_the_patterns_of_a_set_share_their_variables(self):
        assert refusals("set: ['src/{path}.py', 'tests/{name}.py']") == [
            ("different-variables", "{path}"),
            ("different-variables", "{name}"),
        ]

    def test_a_pair_resolves_what_it_captures(self):
        found = refusal("pair: {trigger: 'api/{path}.py', expects: [a, 'docs/{other}.md']}")
        assert (found.code, found.underlined) == ("unresolved-variable", "{other}")
        assert policy("pair: {trigger: '{a}/{b}.py', expects: 'docs/{a}.md'}").mode is Mode.PAIR

    def test_globs_on_both_sides(self):
        policy("set: ['src/{m}/**/*.py', 'docs/{m}/*.md', '{m}/*.{js,ts}']")

    def test_wildcards_that_stand_for_a_value(self):
        """DW-A03"""
        assert refusals("set: ['src/{m}/{**}.py', 'docs/{m}/{*}.md', '{m}/*.{js,ts}']") == [
            ("unresolved-variable", "{**}"),
            ("unresolved-variable", "{*}"),
        ]
        found = refusal("pair: {trigger: 'a/{name}/{*}', expects: 'b/{*}/{name}'}")
        assert (found.code, found.underlined) == ("unresolved-variable", "{*}")
        assert found.help == (
            "write a glob with `*`, such as `docs/*.md`: any changed file that matches is enough"
        )


class TestTrapsOfYaml:
    """DW-A32"""

    @pytest.mark.parametrize(
        "keys",
        [
            "trigger: **/*.py",
            "trigger: *.py",
            "trigger: {path}.py",
            "trigger: {path}",
            "trigger: {js,ts}",
            "trigger: !src",
            "trigger: &src",
            "trigger: [src/{path}.py]",
            "set: [src/{path}.py, tests/{path}_test.py]",
            "trigger:\n  - *.py",
            "trigger: [*.py]",
            "pair: {trigger: {path}.py, expects: a}",
        ],
    )
    def test_quote_the_pattern(self, keys):
        made, found = read(policy_text(keys))
        assert made is None
        assert any("quote the pattern" in one.help for one in found)


class TestHostileTexts:
    @given(st.text(max_size=60))
    def test_any_text_is_read_or_refused(self, text):
        made, found = read(text)
        assert made is not None or found

    @given(st.text(alphabet="{}*/ab[],:'\"-\n trigesp", max_size=60))
    def test_any_front_matter_is_read_or_refused(self, keys):
        made, found = read(policy_text(keys))
        assert made is not None or found
        for one in found:
            assert 0 <= one.span.start <= one.span.end <= len(one.source.text)
