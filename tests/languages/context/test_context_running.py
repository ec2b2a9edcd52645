"""What must hold while documents of the context language run, case by case."""

import pytest
from context_sessions import Contract, answers, block, module, warnings

from bylaw.engine.decide import decide
from bylaw.engine.index import RuleSet
from bylaw.languages.base import VisitOrder
from bylaw.languages.context.blocks import DocumentError
from bylaw.languages.context.commands import MAX_LINE
from bylaw.languages.context.lowering import CHECK_PROCEDURE
from bylaw.languages.context.output import Payload, is_payload
from bylaw.languages.context.types import MAX_TEXT
from bylaw.model.event import TurnEnd
from bylaw.model.procedure import Book, Group
from bylaw.model.rule import Filter, Origin, Rule, Trigger
from bylaw.model.session import Session
from bylaw.model.vocabulary import Kind
from bylaw.report.context import Conversation, MessageResult, read_context_files

WORDS = module(
    block("STATE", "name: a\ntype: String\ndefault: ab"),
    block("STATE", "name: b\ntype: String"),
    block(
        "COMMAND",
        """
name: double
effects:
  set_state:
    - {name: b, value: "${$state.b}!"}
    - {name: a, value: "${$state.a}${$state.a}"}
""",
    ),
    block("COMMAND", "name: status"),
    block("COMMAND", 'name: "null"'),
)


def test_a_variable_that_a_template_doubles_ends_at_a_limit_and_nothing_is_set():
    contract = Contract(WORDS)
    first = contract.say("\n".join(["/double()"] * 15))
    assert not first.reasons
    assert len(contract.state["m.a"]) == MAX_TEXT
    before = contract.slate

    (payload,) = answers(contract.say("/double()"))

    assert "code: INVALID_COMMAND" in payload
    assert contract.slate == before


def test_a_call_is_one_of_its_command_alone_whatever_else_is_asked_about_prompts():
    """A filter that the index does not know leaves the commands of a line what they are."""
    rule = Rule(
        uid="law:rules#filtered",
        id="filtered",
        origin=Origin("rules", 1, 1, ""),
        on=Trigger(kinds=(Kind.PROMPT,)),
        filter=Filter(paths=("src/**",)),
    )
    group = Group(name="", visit=VisitOrder.LAW, procedure=CHECK_PROCEDURE, rules=(rule,))
    beside = Book(dialect="law", path="rules", files=(), digest="", groups=(group,))
    text = module(
        block("COMMAND", "name: a\nargs: {kind: positional, positional: [{name: n, type: Int}]}"),
        block("COMMAND", "name: b"),
    )
    contract = Contract(text, beside=[beside])

    assert answers(contract.say("/b()")) == []
    assert [line.uid for line in contract.say("/b()").trace] == ["context:contract.md#m.b"]
    assert "UNKNOWN_ID" in answers(contract.say("/c()"))[0]


@pytest.mark.parametrize("line", ["status", "status please", "  status", "null", "status ()"])
def test_a_word_that_is_also_the_name_of_a_command_is_prose(line):
    """AC-A27"""
    assert not Contract(WORDS).say(line).reasons


@pytest.mark.parametrize("line", ["status()", "/status", "  /status()", " /status", "/status\t"])
def test_what_lacks_a_slash_or_parentheses_is_suggested(line):
    (warning,) = warnings(Contract(WORDS).say(line))

    assert "Did you mean: /status() ?" in warning


def test_an_id_that_yaml_would_take_for_nothing_stays_a_text():
    (payload,) = answers(Contract(WORDS).say("/null(1)"))

    assert '  id: "null"' in payload.split("\n")


def test_what_nobody_can_see_is_written_out():
    text = Payload(code="CONFLICT", message="a\u202eb\x9b\u2028`|\n").text()

    assert '"a\\u202eb\\u009b\\u2028\'\\u007c\\n"' in text
    assert is_payload(text)


PAYLOAD = Payload(code="CONFLICT", message="m", id="i", responses=("m.r",), hint="h").text()


@pytest.mark.parametrize(
    "text",
    [
        f"{PAYLOAD}\n",
        f"{PAYLOAD}\nmore",
        f"\n{PAYLOAD}",
        f"Sorry.\n{PAYLOAD}",
        PAYLOAD.replace("details:\n", "details:\n[[FILE]]\n"),
        PAYLOAD.replace("message", "text"),
        PAYLOAD.splitlines()[0],
        "",
    ],
)
def test_only_the_exact_form_is_a_payload(text):
    assert is_payload(PAYLOAD)
    assert not is_payload(text)


class Breaks:
    def test(self, view):
        raise KeyError("oops")


def test_a_check_that_breaks_halts_with_a_code_of_the_language():
    """AC-133"""
    rule = Rule(
        uid="context:c.md#m.p.r",
        id="m.p.r",
        origin=Origin("c.md", 1, 1, ""),
        on=Trigger(kinds=(Kind.TURN_END,)),
        guard=Breaks(),
    )
    group = Group("checks", VisitOrder.CONTEXT_CHECKS, CHECK_PROCEDURE, (rule,))
    book = Book(dialect="context", path="c.md", files=("c.md",), digest="", groups=(group,))

    (payload,) = answers(decide(RuleSet((book,)), Session(), TurnEnd()))

    assert "code: CONFLICT" in payload
    assert "  block_type: PROTOCOL\n  id: p.r" in payload
    assert is_payload(payload)


@pytest.mark.parametrize(
    ("needle", "is_in_every_error"),
    [
        ("ERROR: ai-context-language", True),
        ("details:", True),
        ("code: CONFLICT", False),
        ("details: {}", False),
        ("hint:", False),
    ],
)
def test_what_is_demanded_of_errors_is_what_every_error_satisfies(needle, is_in_every_error):
    """AC-A26"""
    body = f'responses: [{{id: ai_context_error, constraints: {{must_include: ["{needle}"]}}}}]'
    text = module(block("RESPONSE", body))
    if is_in_every_error:
        Contract(text)
        return
    with pytest.raises(DocumentError, match="no error payload can satisfy"):
        Contract(text)


TAKES = module(
    block("STATE", "name: a\ntype: String"),
    block(
        "COMMAND",
        """
name: take
args: {kind: positional, positional: [{name: text, type: String}]}
effects: {set_state: [{name: a, value: "$arg0"}]}
""",
    ),
)


def test_a_call_has_at_most_so_many_characters():
    contract = Contract(TAKES)
    longest = f'/take("{"x" * (MAX_LINE - len("/take()") - 2)}")'
    assert len(longest) == MAX_LINE

    assert not contract.say(longest).reasons
    (payload,) = answers(contract.say(longest.replace("x", "xx", 1)))
    assert "the call is longer than 65,536 characters" in payload
    # Prose may be longer, and a suggestion would be no call.
    assert not contract.say(f"{longest[1:]}{' ' * 9}x").reasons
    assert warnings(contract.say(longest[1:]))
    assert not contract.say(longest[1:].replace("x", "xx", 1)).reasons


@pytest.mark.parametrize(
    ("depth", "why"), [(90, "expected String"), (30_000, "invalid argument: write JSON")]
)
def test_arguments_nest_only_so_deep(depth, why):
    (payload,) = answers(Contract(TAKES).say(f"/take({'[' * depth}{']' * depth})"))

    assert why in payload


def test_nothing_stands_beside_an_error(tmp_path):
    """AC-132: not even the warning for a line above it."""
    file = tmp_path / "contract.md"
    file.write_text(WORDS)
    answer = Conversation(read_context_files([str(file)])).say("status()\n/nope()\nstatus()")

    assert answer.result is MessageResult.ERROR
    assert is_payload(answer.output)
