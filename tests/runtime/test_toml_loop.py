"""An agent loop with TOML rules: a scripted model, tools that really run, notices that arrive.

What the model is shown in each turn is written down; the tests look at nothing else, but for what
is logged and what is caused.
"""

import logging
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as TookTooLongError
from threading import Event

import pytest

import bylaw

TIMEOUT_S = 0.5
SESSION = "loop"


class Agent:
    """Asks the model turn after turn, runs the tools that it calls, puts in what rules say."""

    def __init__(self, engine, tools=()):
        self.engine = engine
        self.tools = dict(tools)
        self.messages = []
        self.requests = []
        self.replies = []
        self.calls = 0

    def tell(self, kind, **fields):
        """An event of this session; what rules want to be said follows what was said last."""
        facts = {"user": {"id": "u1"}, "token_budget": 1_000}
        event = {"kind": kind, "session": SESSION, "facts": facts, **fields}
        reply = self.engine.submit(event)
        self.messages += [(one.role.value, one.text) for one in reply.messages]
        self.replies.append(reply)
        return reply

    def say(self, role, text):
        self.messages.append((role, text))
        self.tell("message", role=role, text=text)

    def ask(self, prompt, *turns):
        """One request of a person; each turn is what the model answers: calls, then a text."""
        self.tell("prompt", text=prompt)
        self.say("user", prompt)
        for *calls, text in turns:
            self.tell("turn.start")
            self.requests.append(tuple(self.messages))
            for tool in calls:
                self.call(tool)
            self.say("assistant", text)
            self.tell("turn.end", text=text)

    def call(self, tool):
        self.calls += 1
        call = {"tool": tool, "call": f"c{self.calls}"}
        self.tell("tool.before", **call)
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(self.tools[tool])
            try:
                ended = {"status": "ok", "result": running.result(TIMEOUT_S)}
            except TookTooLongError:
                ended = {"status": "timeout", "error": f"no answer for {TIMEOUT_S} s"}
                HANGING.set()
            except Exception as problem:  # noqa: BLE001 - whatever a tool raises
                ended = {"status": "error", "error": str(problem)}
        self.say("tool", ended.get("result") or ended["error"])
        self.tell("tool.after", **call, **ended)

    def close(self):
        return self.tell("session.end")

    def seen(self, text):
        """In which requests the model was shown a text, and how often, counted from turn 1."""
        shown = ([said for _, said in request].count(text) for request in self.requests)
        return {turn: count for turn, count in enumerate(shown, 1) if count}


HANGING = Event()


def hang():
    HANGING.wait()


def fail():
    raise ValueError("it broke")


TOOLS = {"search": lambda: "found it", "hang": hang, "fail": fail}


def rule(name, on, when, action, priority=100):
    return name, (
        f'[rule]\nid = "{name}"\ntrigger = "{on}"\npriority = {priority}\n'
        f'[condition]\nexpression = "{when}"\n[action]\n{action}\n'
    )


def notify(name, on, when="True", *, deliver_at="turn_start", importance="normal", **more):
    action = f'type = "notify_self"\nmessage = "{name} in turn {{{{ context.turn.number }}}}"\n'
    action += f'deliver_at = "{deliver_at}"\npriority = "{importance}"'
    return rule(name, on, when, action, **more)


@pytest.fixture
def agent(tmp_path, monkeypatch):
    """Makes an agent under some rules; closed when the test ends."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules").mkdir()
    engines = []
    HANGING.clear()

    def make(*rules, journal=None):
        for name, text in rules:
            (tmp_path / "rules" / f"{name}.toml").write_text(text)
        library = bylaw.load("rules")
        assert library.diagnostics == ()
        engines.append(bylaw.Engine(library, journal))
        return Agent(engines[-1], TOOLS)

    yield make
    for engine in engines:
        engine.close()


class TestNotices:
    """TR-080 to TR-082, TR-A23."""

    def test_for_the_start_of_a_turn_it_is_there_before_the_model_is_asked(self, agent):
        one = agent(
            notify("now", "on_turn_start", "context.turn.number == 2"),
            notify("next", "on_turn_end", "context.turn.number == 2"),
            notify("query", "on_query_start"),
        )
        one.ask("go", ["a"], ["b"], ["c"], ["d"])

        assert one.seen("query in turn 1") == {1: 1, 2: 1, 3: 1, 4: 1}
        assert one.seen("now in turn 2") == {2: 1, 3: 1, 4: 1}
        assert one.seen("next in turn 2") == {3: 1, 4: 1}
        assert one.requests[1][-1] == ("developer", "now in turn 2")

    def test_after_a_tool_it_follows_the_result(self, agent):
        one = agent(
            notify("result", "on_tool_complete", deliver_at="after_tool"),
            notify("held", "on_turn_start", "context.turn.number == 1", deliver_at="after_tool"),
        )
        one.ask("go", ["a"], ["search", "b"], ["search", "c"], ["d"])

        assert one.messages == [
            ("user", "go"),
            ("assistant", "a"),
            ("tool", "found it"),
            ("developer", "held in turn 1"),
            ("developer", "result in turn 2"),
            ("assistant", "b"),
            ("tool", "found it"),
            ("developer", "result in turn 3"),
            ("assistant", "c"),
            ("assistant", "d"),
        ]

    def test_at_once_it_stands_before_all_that_comes_later(self, agent):
        one = agent(
            notify("call", "on_tool_call", deliver_at="immediate"),
            notify("failed", "on_tool_failure", deliver_at="immediate"),
            notify("end", "on_turn_end", deliver_at="immediate"),
        )
        one.ask("go", ["fail", "a"])

        assert one.messages == [
            ("user", "go"),
            ("developer", "call in turn 1"),
            ("tool", "it broke"),
            ("developer", "failed in turn 1"),
            ("assistant", "a"),
            ("developer", "end in turn 1"),
        ]

    def test_important_ones_come_first_then_those_that_fired_first(self, agent):
        """TR-077: the priority of a rule says when it is asked, not when its notice comes."""
        one = agent(
            notify("low", "on_turn_start", importance="low", priority=1000),
            notify("critical", "on_turn_start", importance="critical", priority=1),
            notify("b-first", "on_turn_start", priority=500),
            notify("a-second", "on_turn_start", priority=400),
            notify("waited", "on_query_start"),
            notify("high", "on_query_start", importance="high", priority=1),
        )
        one.ask("go", ["a"])

        named = [text.removesuffix(" in turn 1") for _, text in one.requests[0][1:]]
        assert named == ["critical", "high", "waited", "b-first", "a-second", "low"]

    def test_nothing_comes_twice_in_a_long_session(self, agent):
        points = ("turn_start", "after_tool", "immediate")
        hooks = ("on_query_start", "on_turn_start", "on_tool_call", "on_tool_complete")
        one = agent(
            *(
                notify(f"{hook}-{point}".replace("_", "-"), hook, deliver_at=point)
                for hook in (*hooks, "on_turn_end")
                for point in points
            )
        )
        for number in range(5):
            one.ask(f"request {number}", ["search", "search", "a"], ["b"], ["search", "c"])
        one.close()

        told = [text for role, text in one.messages if role == "developer"]
        made = [
            step.text
            for reply in one.replies
            for _, _, step in reply.answer.decision.numbered_steps()
            if step.op == "notify"
        ]
        undelivered = [
            step.text.removeprefix("never delivered: ")
            for _, _, step in one.replies[-1].answer.decision.numbered_steps()
        ]
        assert sorted(told + undelivered) == sorted(made)
        assert len(made) == 195

    def test_what_was_never_delivered_is_reported_at_the_end(self, agent, caplog):
        one = agent(
            notify("held", "on_turn_end", deliver_at="after_tool"),
            notify("last", "on_turn_end"),
            notify("late", "on_session_end", importance="critical"),
        )
        one.ask("go", ["a"])
        with caplog.at_level(logging.WARNING, "bylaw"):
            reply = one.close()

        assert caplog.messages == [
            "held: never delivered: held in turn 1",
            "last: never delivered: last in turn 1",
            "late: never delivered: late in turn 1",
        ]
        assert reply.messages == ()
        assert [role for role, _ in one.messages] == ["user", "assistant"]

    def test_a_session_that_is_closed_twice_has_ended_once(self, agent, caplog):
        """TR-035."""
        one = agent(notify("late", "on_session_end"))
        with caplog.at_level(logging.WARNING, "bylaw"):
            one.close()
            one.close()

        assert caplog.messages == ["late: never delivered: late in turn 1"]


COUNT = rule(
    "count", "on_tool_complete", "True",
    'type = "set_state"\nkey = "searches"\n'
    'value = "{{ (context.state.searches or 0) | int + 1 }}"',
)  # fmt: skip
TELL = notify("tell", "on_turn_start", "context.state.searches == '3'")


class TestState:
    """TR-087 to TR-089, TR-A25."""

    def test_it_lasts_from_turn_to_turn_and_from_request_to_request(self, agent):
        one = agent(COUNT, TELL)
        one.ask("go", ["search", "a"], ["search", "b"])
        one.ask("again", ["search", "c"], ["d"])

        assert one.seen("tell in turn 4") == {4: 1}

    def test_it_lasts_from_process_to_process(self, agent, tmp_path):
        """Notices that wait do, too."""
        journal = tmp_path / "journal.db"
        left = notify("left", "on_turn_end", "context.turn.number == 2")
        one = agent(COUNT, TELL, left, journal=journal)
        one.ask("go", ["search", "a"], ["search", "b"])
        one.engine.close()
        other = agent(journal=journal)
        other.ask("again", ["search", "c"], ["d"])

        assert one.seen("left in turn 2") == {}
        assert other.seen("left in turn 2") == {1: 1, 2: 1}
        assert other.seen("tell in turn 4") == {2: 1}

    def test_sessions_share_nothing(self, agent):
        one = agent(COUNT, TELL)
        one.ask("go", ["search", "a"], ["search", "b"], ["search", "c"])
        reply = one.engine.submit({"kind": "turn.start", "session": "another"})

        assert reply.messages == ()
        assert one.tell("turn.start").messages != ()


class TestEvents:
    """TR-093, TR-A24."""

    def test_an_emitted_event_is_caused_by_its_rule(self, agent):
        payload = '{ n = 1, turn = "{{ context.turn.number }}", deep = ["{{ context.user.id }}"] }'
        action = f'type = "emit_event"\nevent_type = "custom.milestone"\npayload = {payload}'
        one = agent(rule("emits", "on_turn_end", "context.turn.number == 2", action))
        one.ask("go", ["a"], ["b"], ["c"])

        caused = [c.event for reply in one.replies for c in reply.answer.caused]
        (event,) = [event for event in caused if event.kind == "custom"]
        assert (event.type, event.payload) == (
            "custom.milestone",
            {"n": 1, "turn": "2", "deep": ["u1"]},
        )
        assert [uid.partition("#")[2] for uid in event.cause] == ["emits"]

    def test_a_message_that_a_rule_put_in_is_caused_by_it(self, agent):
        one = agent(notify("now", "on_turn_start"))
        reply = one.tell("turn.start")

        (caused,) = reply.answer.caused
        assert (caused.event.kind, caused.event.text) == ("message", "now in turn 1")
        assert [uid.partition("#")[2] for uid in caused.event.cause] == ["now"]


class TestTools:
    """TR-033, TR-034, TR-037, TR-A22."""

    hooks = ("on_tool_call", "on_tool_complete", "on_tool_failure")

    @pytest.mark.parametrize(
        ("tool", "fired"),
        [
            ("search", ["on-tool-call", "on-tool-complete"]),
            ("fail", ["on-tool-call", "on-tool-failure"]),
            ("hang", ["on-tool-call", "on-tool-failure"]),
        ],
    )
    def test_a_call_ends_in_one_way(self, agent, tool, fired):
        one = agent(
            *(notify(hook.replace("_", "-"), hook, deliver_at="immediate") for hook in self.hooks)
        )
        one.ask("go", [tool, "a"])

        told = [text for role, text in one.messages if role == "developer"]
        assert told == [f"{name} in turn 1" for name in fired]

    def test_a_call_that_took_too_long_says_so(self, agent, caplog):
        says = "{{ context.result.error }}, {{ context.event.type }}, {{ context.result.success }}"
        one = agent(
            rule("says", "on_tool_failure", "True", f'type = "log"\nmessage = "{says}"'),
            notify(
                "counted",
                "on_turn_start",
                "context.history.total_failures == 2 and failure_count('hang') == 1",
            ),
        )
        with caplog.at_level(logging.INFO, "bylaw"):
            one.ask("go", ["hang", "fail", "a"], ["b"])

        assert caplog.messages == [
            "says: timeout, tool.call.timeout, False",
            "says: it broke, tool.call.failure, False",
        ]
        assert one.seen("counted in turn 2") == {2: 1}

    def test_the_hooks_of_a_turn_come_in_order(self, agent, caplog):
        """TR-037."""
        hooks = ("on_query_start", "on_turn_start", *self.hooks, "on_turn_end", "on_session_end")
        one = agent(
            *(
                rule(hook.replace("_", "-"), hook, "True", f'type = "log"\nmessage = "{hook}"')
                for hook in hooks
            )
        )
        with caplog.at_level(logging.INFO, "bylaw"):
            one.ask("go", ["search", "a"], ["fail", "b"])
            one.close()

        assert [line.partition(": ")[2] for line in caplog.messages] == [
            "on_query_start",
            *("on_turn_start", "on_tool_call", "on_tool_complete", "on_turn_end"),
            *("on_turn_start", "on_tool_call", "on_tool_failure", "on_turn_end"),
            "on_session_end",
        ]
