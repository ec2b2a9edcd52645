"""The context language in the common form: command lines, what they enable, checks of an output."""

from dataclasses import dataclass

import pytest
from driving import Driven, assert_replays
from forms import Check, Makes, book, group, rule

from bylaw.engine.combine import MAX_LINES
from bylaw.model.decision import Match
from bylaw.model.effects import RulesEnable, StateSet
from bylaw.model.errors import GuardError
from bylaw.model.event import Prompt, ToolBefore, TurnEnd, TurnStart
from bylaw.model.rule import EnabledGate, EnabledSet
from bylaw.model.session import variable_space
from bylaw.model.vocabulary import Kind, Op, Verdict

SPACE = variable_space("context", "demo")


@dataclass(frozen=True)
class Call:
    """The line is a call of this command; binds the argument."""

    command: str

    def test(self, view):
        if not view.line.startswith(f"/{self.command}("):
            return None
        argument = view.line.removeprefix(f"/{self.command}(").removesuffix(")")
        if not argument.isdigit():
            raise GuardError("TYPE_ERROR", f"`{argument}` is no Int")
        return Match({"value": int(argument), "line": view.line})


def state(name, value):
    """`set_state`: the value is computed from the view and the arguments."""

    def make(view, match):
        return StateSet(space=SPACE, name=name, value=value(view.slate.space(SPACE), match.values))

    return Makes(Op.STATE_SET, make)


def command(name, *steps, line=1):
    return rule(
        f"demo.{name}", Kind.PROMPT, dialect="context", line=line, when=Call(name), steps=steps
    )


ADD = command(
    "add",
    state("total", lambda old, args: old.get("total", 0) + args["value"]),
    # AC-A34: both read the values before the call.
    state("before", lambda old, args: old.get("total", 0)),
)
STRICT = command("strict", RulesEnable(protocols=("demo.blocks",)), line=2)
BOOK = book(group("commands", ADD, STRICT))


def values(session):
    return dict(session.session.slate.space(SPACE))


class TestThreeLinesOfWhichTheSecondFails:
    """AC-A33, AC-A34, AC-A43"""

    def test_all_three_run_top_to_bottom(self):
        session = Driven(BOOK)
        prompt = session.submit(Prompt(text="/add(1)\n/add(2)\njust prose\n/add(3)"))

        assert prompt.verdict is Verdict.ALLOW
        assert [step.value for _, step in prompt.steps] == [1, 0, 3, 1, 6, 3]
        assert values(session) == {"total": 6, "before": 3}
        assert_replays(session)

    def test_a_wrong_argument_halts(self):
        session = Driven(BOOK)
        prompt = session.submit(Prompt(text="/add(1)\n/add(x)\n/add(3)"))

        assert prompt.verdict is Verdict.HALT
        assert prompt.reasons == [("demo.add", "ERROR TYPE_ERROR: `x` is no Int")]
        # The third line is not read. That a command is not called on a further line is no news.
        assert prompt.trace == [
            ("demo.add", "fired"),
            ("demo.strict", "guard_false"),
            ("demo.add", "guard_error"),
        ]
        assert values(session) == {"total": 1, "before": 0}

    def test_a_text_of_too_many_lines_is_read_up_to_the_limit(self):
        session = Driven(BOOK)
        prompt = session.submit(Prompt(text="\n \nprose\r\n" * MAX_LINES + "/add(1)"))

        assert values(session) == {}
        assert prompt.details[-1] == "only 10,000 lines are read"
        assert len(prompt.trace) == 3
        assert_replays(session)

    def test_the_only_command_may_succeed_and_fail_in_one_message(self):
        """Each line is a reading of its own: what failed is not hidden by what did not."""
        session = Driven(book(group("commands", ADD)))
        prompt = session.submit(Prompt(text="/add(1)\n/add(x)"))

        assert prompt.trace == [("demo.add", "fired"), ("demo.add", "guard_error")]
        assert_replays(session)

    def test_an_unknown_command_halts(self):
        session = Driven(BOOK)
        prompt = session.submit(Prompt(text="/add(1)\n/sub(2)\n/add(3)"))

        assert prompt.verdict is Verdict.HALT
        assert prompt.reasons == [("unknown-command", "ERROR UNKNOWN_ID: sub")]
        assert prompt.trace[-1] == ("unknown-command", "fired")
        assert values(session) == {"total": 1, "before": 0}
        assert_replays(session)

    def test_a_step_that_cannot_be_computed_leaves_no_trace_of_its_command(self):
        def fail(view, match):
            raise GuardError("TYPE_ERROR", "a Map in a template")

        half = command("half", state("total", lambda old, args: 99), Makes(Op.STATE_SET, fail))
        session = Driven(book(group("commands", ADD, half)))
        prompt = session.submit(Prompt(text="/add(1)\n/half(2)\n/add(3)"))

        assert prompt.verdict is Verdict.HALT
        assert prompt.reasons == [("demo.half", "ERROR TYPE_ERROR: a Map in a template")]
        assert prompt.details == ["step 2 failed: TYPE_ERROR: a Map in a template"]
        assert [rule_id for rule_id, _ in prompt.steps] == ["demo.add", "demo.add"]
        assert values(session) == {"total": 1, "before": 0}
        assert_replays(session)


def missing_block(view):
    """`require_block`: matches when the open marker stands alone on no line of the output."""
    lines = (line.strip() for line in view.event.text.splitlines())
    return None if "[[CHECKLIST]]" in lines else Match({"block": "CHECKLIST"})


CHECKS = group(
    "checks",
    rule(
        "demo.blocks.has-checklist",
        Kind.TURN_END,
        dialect="context",
        gates=(EnabledGate(EnabledSet.PROTOCOLS, "demo.blocks"),),
        when=Check(missing_block),
        verdict=Verdict.HALT,
        because="ERROR CONFLICT: no {block}",
    ),
    rule(
        "demo.blocks.no-shell",
        Kind.TOOL_BEFORE,
        dialect="context",
        tools=("shell",),
        gates=(EnabledGate(EnabledSet.PROTOCOLS, "demo.blocks"),),
        verdict=Verdict.HALT,
        because="ERROR CONFLICT: shell",
    ),
)
CONTRACT = book(group("commands", ADD, STRICT), CHECKS)


class TestARequiredBlockMissingAtTurnEnd:
    """AC-A23, AC-A24: only what a command enabled counts."""

    def test_before_the_command_the_gate_is_closed(self):
        session = Driven(CONTRACT)
        end = session.submit(TurnStart(), TurnEnd(text="nothing"))

        assert end.verdict is Verdict.ALLOW
        assert end.steps == []
        assert session.session.turns.completed == 1
        assert end.trace == [("demo.blocks.has-checklist", "gated")]
        assert end.details == ["enabled"]
        assert_replays(session)

    @pytest.mark.parametrize(
        ("text", "verdict"),
        [
            ("- [ ] x", Verdict.HALT),
            ("see [[CHECKLIST]] below", Verdict.HALT),
            ("[[CHECKLIST]]\n- [ ] x", Verdict.ALLOW),
        ],
    )
    def test_after_the_command_the_output_is_checked(self, text, verdict):
        session = Driven(CONTRACT)
        session.submit(Prompt(text="/strict(1)"), TurnStart())
        end = session.submit(TurnEnd(text=text))

        assert session.session.slate.enabled.protocols == ("demo.blocks",)
        assert end.verdict is verdict
        reason = ("demo.blocks.has-checklist", "ERROR CONFLICT: no CHECKLIST")
        assert end.reasons == ([reason] if verdict is Verdict.HALT else [])
        assert_replays(session)

    def test_a_forbidden_tool_is_stopped_before_it_runs(self):
        session = Driven(CONTRACT)
        session.submit(Prompt(text="/strict(1)"))
        call = session.submit(ToolBefore(tool="bash", also=("shell",), call="c1"))

        assert call.verdict is Verdict.HALT
        assert call.caused == []  # the turn ends with the payload; there is no answer of the tool
        assert session.session.count_used("bash") == 0
        assert_replays(session)

    def test_the_next_command_replaces_what_is_enabled(self):
        lax = command("lax", RulesEnable(), line=3)
        session = Driven(book(group("commands", ADD, STRICT, lax), CHECKS))
        session.submit(Prompt(text="/strict(1)\n/lax(1)"))
        end = session.submit(TurnEnd(text="nothing"))

        assert end.trace == [("demo.blocks.has-checklist", "gated")]
        assert_replays(session)

    def test_a_check_reads_what_a_command_of_the_same_event_enabled(self):
        """The slate is live over groups: context commands are visited first."""
        check = rule(
            "demo.blocks.prompt",
            Kind.PROMPT,
            dialect="context",
            gates=(EnabledGate(EnabledSet.PROTOCOLS, "demo.blocks"),),
            verdict=Verdict.WARN,
        )
        session = Driven(book(group("commands", STRICT), group("checks", check)))
        prompt = session.submit(Prompt(text="/strict(1)"))

        assert prompt.trace == [("demo.strict", "fired"), ("demo.blocks.prompt", "fired")]
        assert_replays(session)
