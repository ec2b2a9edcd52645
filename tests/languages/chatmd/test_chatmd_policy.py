"""ChatMD policy: each constraint, what it says, and that no way leads around it."""

import pytest
from chat_rules import UID, call, messages, on, policy, rules_of, session, turn

from bylaw.model.event import Message, ToolAfter, ToolBefore, TurnStart
from bylaw.model.vocabulary import CallStatus, Role, Verdict

TRANSLATE = policy(
    """<validate level="error">
  <check if='arg("target_lang") in ["en","fr","de"]' message="Unsupported target_lang"/>
  <check if='arg("text") != ""' message="text must be non-empty"/>
</validate>""",
    "translate",
)
GOOD = {"target_lang": "en", "text": "a"}


def reason(happened):
    """Why a call was denied."""
    assert happened.verdict is Verdict.DENY
    return "\n".join(text for _, text in happened.reasons)


class TestIds:
    """CM-128, CM-129, CM-A41"""

    def test_the_second_of_a_kind_is_numbered_over_all_blocks(self):
        two = '<requires tools="Y"/><quota per_turn="1"/><requires tools="Z"/>'
        text = policy(two) + policy('<requires tools="A"/>') + policy('<quota per_turn="1"/>', "W")

        assert [rule.id for rule in rules_of(text)] == [
            "policy:X/requires",
            "policy:X/quota",
            "policy:X/requires.2",
            "policy:X/requires.3",
            "policy:W/quota",
        ]

    def test_all_of_them_apply_in_their_order(self):
        """CM-A36, CM-A37"""
        text = policy('<cooldown turns="1"/><quota per_turn="1"/>') + policy(
            '<validate><check if="false" message="never"/></validate><requires tools="Y"/>'
        )
        chat = session(text)
        chat.submit(ToolAfter(tool="X", status=CallStatus.OK))
        denied = call(chat, "X")

        assert [rule_id for rule_id, _ in denied.reasons] == [
            "policy:X/requires",
            "policy:X/validate",
            "policy:X/quota",
            "policy:X/cooldown",
        ]
        (message,) = denied.caused
        assert message.event.text == reason(denied)
        assert message.event.text.count("\n") == 3
        assert message.event.cause[0] == UID + "policy:X/requires"

    def test_other_tools_are_free(self):
        assert call(session(policy('<quota per_turn="0"/>')), "Y").verdict is Verdict.ALLOW

    def test_a_rule_that_denies_after_policy_is_only_traced(self):
        text = policy('<quota per_turn="0"/>') + on('<deny reason="no"/>', 'event="pre_tool_call"')
        denied = call(session(text), "X")

        assert [rule_id for rule_id, _ in denied.reasons] == ["policy:X/quota"]
        assert denied.details == ["already denied"]

    def test_denial_comes_before_repair(self):
        """CM-106"""
        text = policy('<quota per_turn="0"/>') + on(
            '<insert role="user">x</insert>', 'event="pre_tool_call" priority="-9"'
        )
        denied = call(session(text), "X")

        assert denied.verdict is Verdict.DENY
        assert [role for role, _ in messages(denied)] == ["tool", "user"]


class TestRequires:
    """CM-109 to CM-113"""

    def test_until_all_were_called(self):
        chat = session(policy('<requires tools="Y, Z"/>'))

        assert reason(call(chat, "X")) == "Tool X requires Y, Z first; not yet called: Y, Z"
        call(chat, "Y")
        assert reason(call(chat, "X")) == "Tool X requires Y, Z first; not yet called: Z"
        call(chat, "Z")
        assert call(chat, "X").verdict is Verdict.ALLOW

    def test_a_call_that_failed_was_called_and_one_that_was_denied_was_not(self):
        """CM-A18"""
        chat = session(policy('<requires tools="Y"/>') + policy('<quota per_turn="0"/>', "Y"))
        call(chat, "Y")
        assert call(chat, "X").verdict is Verdict.DENY
        chat.submit(ToolAfter(tool="Y", status=CallStatus.ERROR))
        assert call(chat, "X").verdict is Verdict.ALLOW

    def test_a_warning_lets_the_call_run(self):
        warned = call(session(policy('<requires tools="Y,Z" mode="warn"/>')), "X")

        assert warned.verdict is Verdict.WARN
        assert messages(warned) == [
            ("developer", "Tool X requires Y, Z first; not yet called: Y, Z")
        ]
        assert warned.caused[0].event.cause == (UID + "policy:X/requires",)


class TestValidate:
    """CM-114 to CM-121, CM-A19, CM-A37, CM-A43, CM-A44"""

    @pytest.mark.parametrize(
        ("args", "said"),
        [
            ({"target_lang": "xx", "text": "a"}, "Unsupported target_lang"),
            ({"target_lang": "en", "text": ""}, "text must be non-empty"),
            ({"target_lang": "xx", "text": ""}, "Unsupported target_lang\ntext must be non-empty"),
            ({}, "Unsupported target_lang\ntext must be non-empty"),
            ({"target_lang": None, "text": "a"}, "Unsupported target_lang"),
        ],
    )
    def test_every_failing_message_in_order(self, args, said):
        chat = session(TRANSLATE)

        assert reason(call(chat, "translate", args)) == said
        assert chat.session.count_used("translate") == 0

    def test_a_call_that_passes(self):
        assert call(session(TRANSLATE), "translate", GOOD).verdict is Verdict.ALLOW

    def test_error_is_the_default(self):
        chat = session(policy("<validate><check if='false' message='m'/></validate>"))

        assert reason(call(chat, "X")) == "m"

    def test_one_note_for_all_warnings(self):
        warned = call(session(TRANSLATE.replace("error", "warn")), "translate")

        assert warned.verdict is Verdict.WARN
        assert messages(warned) == [
            ("developer", "Unsupported target_lang\ntext must be non-empty")
        ]

    @pytest.mark.parametrize(
        "condition",
        [
            'arg("x") != ""',
            'true or arg("x") == 1',
            'jsonpath("$.o.k") != 1',
            'arg("o.k") != 1',
            'not (arg("x") == 1)',
            'arg("x" + "y") != 1',
        ],
    )
    @pytest.mark.parametrize("args", [{}, {"x": None, "o": {}}, {"o": []}])
    def test_a_missing_argument_fails_the_check_wherever_it_is_read(self, condition, args):
        chat = session(policy(f"<validate><check if='{condition}' message='m'/></validate>"))

        assert reason(call(chat, "X", args)) == "m"

    @pytest.mark.parametrize("level", ["error", "warn"])
    def test_a_check_that_cannot_be_evaluated_has_failed(self, level):
        """CM-A20 and CM-116: an error denies, a warning is noted; both say why."""
        text = policy(
            f"""<validate level="{level}"><check if='arg("n") > 1' message="n is small"/>
            <check if="false" message="never"/></validate>"""
        )
        judged = call(session(text), "X", {"n": "x"})
        told = messages(judged)[0][1].split("\n")

        assert judged.verdict is (Verdict.DENY if level == "error" else Verdict.WARN)
        begin = 'n is small (guard error in policy:X/validate: in `arg("n") > 1`: '
        assert told[0].startswith(begin)
        assert told[1] == "never"

    def test_the_whole_language(self):
        check = 'count_calls("Y") > 0 and not text_contains("secret", "last_user")'
        chat = session(policy(f"<validate><check if='{check}' message='m'/></validate>"))

        assert call(chat, "X").verdict is Verdict.DENY
        call(chat, "Y")
        assert call(chat, "X").verdict is Verdict.ALLOW
        chat.submit(Message(role=Role.USER, text="a secret"))
        assert call(chat, "X").verdict is Verdict.DENY

    def test_tokens_of_the_last_user(self):
        """CM-031, CM-133"""
        check = 'tokens("last_user") <= 4000'
        chat = session(policy(f"<validate><check if='{check}' message='m'/></validate>"))
        verdicts = []
        for size in (16_000, 16_001):
            chat.submit(Message(role=Role.USER, text="x" * size))
            verdicts.append(call(chat, "X").verdict)

        assert verdicts == [Verdict.ALLOW, Verdict.DENY]


class TestQuota:
    """CM-122 to CM-124, CM-126, CM-127"""

    def test_per_turn(self):
        chat = session(policy('<quota per_turn="1"/>'))
        chat.submit(TurnStart())

        assert call(chat, "X").verdict is Verdict.ALLOW
        assert reason(call(chat, "X")) == "Tool X has used up its quota per_turn=1 of this turn"
        turn(chat)
        assert call(chat, "X").verdict is Verdict.ALLOW

    def test_per_session(self):
        chat = session(policy('<quota per_session="2"/>'))

        assert [call(chat, "X").verdict for _ in range(2)] == [Verdict.ALLOW] * 2
        turn(chat)
        assert reason(call(chat, "X")) == "Tool X has used up its quota per_session=2"

    def test_calls_side_by_side_cannot_pass_together(self):
        chat = session(policy('<quota per_session="1"/>'))

        assert call(chat, "X", ends=False, call_id="a").verdict is Verdict.ALLOW
        assert call(chat, "X", call_id="b").verdict is Verdict.DENY
        chat.submit(ToolAfter(tool="X", call="a", status=CallStatus.CANCELLED))
        assert call(chat, "X", call_id="c").verdict is Verdict.ALLOW

    def test_zero_never_runs(self):
        assert call(session(policy('<quota per_turn="0"/>')), "X").verdict is Verdict.DENY

    def test_a_denied_call_uses_nothing(self):
        text = policy(
            '<quota per_session="1"/><cooldown turns="5"/>'
            "<validate><check if='arg(\"ok\") == true' message='m'/></validate>"
        )
        chat = session(text)

        assert reason(call(chat, "X", {"ok": False})) == "m"
        assert call(chat, "X", {"ok": True}).verdict is Verdict.ALLOW

    def test_another_name_of_the_tool(self):
        chat = session(policy('<quota per_session="1"/>', "shell"))
        for number in range(2):
            before = chat.submit(ToolBefore(tool="Bash", also=("shell",), call=str(number)))

        assert before.verdict is Verdict.DENY


class TestCooldown:
    """CM-125, CM-126, CM-A15"""

    @pytest.mark.parametrize(("turns", "words"), [(1, "1 turn"), (2, "2 turns")])
    def test_the_turns_after_a_call_and_its_own(self, turns, words):
        chat = session(policy(f'<cooldown turns="{turns}"/>'))
        chat.submit(TurnStart())
        turn(chat)
        turn(chat)
        assert call(chat, "X").verdict is Verdict.ALLOW  # in turn 3
        for _ in range(turns + 1):
            assert reason(call(chat, "X")) == (
                f"Tool X is in its cool-down of {words}; the first allowed turn is {4 + turns}"
            )
            turn(chat)
        assert call(chat, "X").verdict is Verdict.ALLOW

    def test_a_call_under_way_counts(self):
        chat = session(policy('<cooldown turns="1"/>'))
        chat.submit(TurnStart())
        call(chat, "X", ends=False, call_id="a")

        assert reason(call(chat, "X", call_id="b")).endswith("the first allowed turn is 3")

    def test_none(self):
        chat = session(policy('<cooldown turns="0"/>'))

        assert [call(chat, "X").verdict for _ in range(2)] == [Verdict.ALLOW] * 2


def test_an_event_that_comes_again_is_not_counted_against_itself():
    """What was judged in round 1 is under way in round 2."""
    chat = session(policy('<quota per_session="1"/>'))
    chat.submit(ToolBefore(tool="X", call="a"))
    again = chat.submit(ToolBefore(tool="X", call="a", round=2))

    assert again.verdict is Verdict.ALLOW
    assert again.trace == []
