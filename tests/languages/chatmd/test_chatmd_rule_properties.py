"""ChatMD rules of any sort: order, budgets and limits as a few lines of Python say them."""

from dataclasses import dataclass, field, replace

from chat_rules import driven, findings, loaded, messages, rules_of, session
from driving import assert_replays
from hypothesis import given, settings
from hypothesis import strategies as st

from bylaw.languages.chatmd.actions import MAX_VARIABLE
from bylaw.languages.chatmd.elements import PARENTS
from bylaw.languages.chatmd.messages import dedent
from bylaw.model.event import Message, ToolAfter, ToolBefore, TurnEnd, TurnStart
from bylaw.model.vocabulary import CallStatus, Role

RANDOM = settings(deadline=None, max_examples=150)
EVENTS = {
    "turn_start": TurnStart(),
    "turn_end": TurnEnd(),
    "pre_tool_call": ToolBefore(tool="X", args={"q": "eio"}),
    "post_tool_response": ToolAfter(tool="X", args={"q": "eio"}, status=CallStatus.OK),
    "message_appended": Message(role=Role.USER, text="hi"),
}
# Each action with whether it is a call.
ACTIONS = {
    '<insert role="user">x</insert>': False,
    '<set var="n" value="1"/>': False,
    '<call tool="t">{"a": 1}</call>': True,
    '<agent src="a.chatmd">x</agent>': False,
}


@dataclass
class Written:
    """One rule as it is drawn."""

    id: str
    event: str
    priority: int
    holds: bool
    actions: list = field(default_factory=list)
    stops: bool = False

    def text(self):
        inside = "".join(self.actions) + ("<stop/>" if self.stops else "")
        guard = "true" if self.holds else "1 > 2"
        return (
            f'<on id="{self.id}" event="{self.event}" priority="{self.priority}" if="{guard}">'
            f"{inside}</on>"
        )


def written_rules():
    rule = st.builds(
        Written,
        id=st.just(""),
        event=st.sampled_from(list(EVENTS)),
        priority=st.integers(-2, 2),
        holds=st.booleans(),
        actions=st.lists(st.sampled_from(list(ACTIONS)), min_size=1, max_size=3),
        stops=st.booleans(),
    )
    return st.lists(rule, max_size=7).map(_numbered)


def _numbered(rules):
    return [replace(rule, id=f"r{number}") for number, rule in enumerate(rules)]


def expected(rules, budget, calls):
    """The actions that are taken, rule by rule in the order of their priorities."""
    taken = []
    for rule in sorted(rules, key=lambda one: one.priority):
        if not rule.holds:
            continue
        for action in rule.actions:
            if budget > 0 and (calls > 0 or not ACTIONS[action]):
                taken.append((rule.id, action))
                budget -= 1
                calls -= ACTIONS[action]
        if rule.stops:
            break
    return taken


def actions_of(happened):
    """The actions of a decision: messages behind another step tell of it."""
    ops = {
        "message.insert": '<insert role="user">x</insert>',
        "state.set": '<set var="n" value="1"/>',
        "tool.call": '<call tool="t">{"a": 1}</call>',
        "agent.run": '<agent src="a.chatmd">x</agent>',
    }
    steps = [(rule, step) for rule, step in happened.steps if not _tells(step)]
    return [(rule, ops[step.op.value]) for rule, step in steps]


def _tells(step):
    return step.op.value == "message.insert" and step.text != "x"


@RANDOM
@given(written_rules(), st.integers(1, 5), st.integers(1, 3), st.sampled_from(list(EVENTS)))
def test_order_and_budgets(rules, budget, calls, name):
    """CM-096, CM-097, CM-103, CM-081, CM-089, CM-140"""
    text = "".join(f"<rules>{rule.text()}</rules>" for rule in rules)
    limits = f'<rules max_actions_per_event="{budget}" max_calls_per_event="{calls}"/>'
    driven.clear()
    chat = session(text + limits)
    happened = chat.submit(EVENTS[name])

    concerned = [rule for rule in rules if rule.event == name]
    assert actions_of(happened) == expected(concerned, budget, calls)
    assert_replays(chat)


@RANDOM
@given(written_rules(), st.integers(1, 3), st.sampled_from(list(EVENTS)))
def test_a_trace_line_says_what_was_done_and_what_was_not(rules, budget, name):
    """CM-108, CM-A13"""
    attributes = f'max_actions_per_event="{budget}" max_calls_per_event="3" trace="true"'
    driven.clear()
    text = f"<rules {attributes}>{''.join(rule.text() for rule in rules)}</rules>"
    # Six rules that answer each other, and lines about each answer: many, but they end.
    happened = session(text, most=50_000).submit(EVENTS[name])

    concerned = {rule.id: rule for rule in rules if rule.event == name}
    done = expected(concerned.values(), budget, 3)
    lines = dict(_traced(text) for _, text in messages(happened) if text.startswith("[rule "))
    for rule_id, line in lines.items():
        performed, _, skipped = line.partition("over budget: ")
        rule = concerned[rule_id]
        kept = sum(one == rule_id for one, _ in done)
        assert performed.count("(") == kept
        assert skipped.count("(") == len(rule.actions) - kept
        assert ("stop" in performed) is rule.stops
    assert {rule_id for rule_id, _ in done} <= set(lines)


def _traced(text):
    begin, _, rest = text.partition(": ")
    return begin.removeprefix("[rule ").partition("]")[0], rest


TAGS = st.sampled_from([*PARENTS, "rules", "policy", "exec"])
ATTRIBUTES = "id event tool if priority once role reason var value keep name tools mode level"
NAMES = st.sampled_from(ATTRIBUTES.split())
VALUES = st.sampled_from(
    ["", " ", "1", "-1", "true", "turn_end", "pre_tool_call", "user", "X", "*", "arg('x') > 1", "n",
     "&lt;", "latest:2", "n + ", "since_ms('a') > 1", "9" * 30, "\u202e", "a,b,,", "{}"]
)  # fmt: skip


@st.composite
def markup(draw, depth=0):
    """Elements of any sort in one another, closed as they should be."""
    tag = draw(TAGS)
    attributes = draw(st.lists(st.tuples(NAMES, VALUES), max_size=4))
    written = "".join(f' {name}="{value}"' for name, value in attributes)
    if depth > 3 or draw(st.booleans()):
        return f"<{tag}{written}/>"
    children = draw(st.lists(markup(depth + 1) | st.sampled_from(["x", " ", "{}"]), max_size=3))
    return f"<{tag}{written}>{''.join(children)}</{tag}>"


@settings(deadline=None, max_examples=400)
@given(st.lists(markup(), max_size=4))
def test_whatever_is_written_is_read_or_refused(pieces):
    """CM-009, CM-011: no crash, every finding in the text, and nothing of a broken file counts."""
    text = "<rules>" + "".join(pieces) + "</rules><policy>" + "".join(pieces) + "</policy>"
    found = loaded(text)

    for one in found.diagnostics:
        assert 0 <= one.span.start <= one.span.end <= len(text)
        assert one.headline
    if any(severity == "error" for severity, *_ in findings(text)):
        assert not any(group.rules for group in found.groups)
    else:
        assert all(rule.origin.line == 1 for group in found.groups for rule in group.rules)


@given(st.text("ab \t\r\n", max_size=40))
def test_what_dedenting_leaves(text):
    """CM-A45: nothing but blanks before lines and blank lines around them is gone."""
    result = dedent(text)

    assert result.split() == text.split()
    assert dedent(result) == result
    lines = [line for line in result.split("\n") if line.strip()]
    first = {line[0] for line in lines}
    assert not lines or first - set(" \t") or len(first) > 1
    assert [line.lstrip(" \t\r").rstrip("\r") for line in lines] == [
        line.lstrip(" \t\r").rstrip("\r") for line in text.split("\n") if line.strip()
    ]


@settings(deadline=None, max_examples=15)
@given(st.lists(st.sampled_from(["[n, n]", "[n]", "n", "'x'", "[n, 'a']"]), min_size=1, max_size=3))
def test_a_variable_is_never_larger_than_its_limit(values):
    """Whatever is put into it, and however often."""
    actions = "".join(f'<set var="n" value="{value}"/>' for value in values)
    driven.clear()
    chat = session(
        f'<rules max_actions_per_event="9"><on event="turn_start">{actions}</on></rules>'
    )
    for _ in range(20):
        chat.submit(TurnStart(), TurnEnd())
    written = [text for event, _ in chat.record if (text := getattr(event, "text", ""))]

    assert max(map(len, written)) < 4 * MAX_VARIABLE


def test_a_file_of_many_rules():
    one = '<on event="turn_start" if="turn_index == 1"><insert role="user">x</insert></on>'

    assert len(rules_of(f"<rules>{one * 2_000}</rules>")) == 2_000
