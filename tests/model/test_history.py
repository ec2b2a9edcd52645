"""History as guards read it."""

import pytest
from folding import after, call, said

from bylaw.model.event import HistoryChanged, Prompt, TurnEnd, TurnStart
from bylaw.model.fold import observe
from bylaw.model.history import WINDOW, History
from bylaw.model.session import Session
from bylaw.model.vocabulary import CallStatus, Role


class TestHistory:
    def test_messages_make_history(self):
        """CM-048, CM-049, CM-050, CM-A08"""
        assert Session().history.last_role == "none"
        session = after(said(Role.SYSTEM, "x" * 8), said(Role.USER, "ä" * 5))

        assert session.history.length == 2
        assert session.history.tokens == 2 + 2
        assert session.history.last_role == "user"
        assert session.history.last_user == "ä" * 5

    def test_a_message_is_there_while_it_is_decided(self):
        session = observe(Session(), said(Role.ASSISTANT, "hi"))

        assert (session.history.length, session.history.last_assistant) == (1, "hi")

    def test_nothing_but_messages_makes_history(self):
        session = after(Prompt(text="x"), TurnStart(), call("t", result="r"), TurnEnd(text="y"))

        assert (session.history.length, session.history.last_role) == (0, "none")

    def test_a_tool_message_leaves_the_other_texts(self):
        session = after(said(Role.USER, "u"), said(Role.ASSISTANT, "a"), said(Role.TOOL, "t"))

        assert (session.history.last_role, session.history.last_user) == ("tool", "u")
        assert session.history.last_assistant == "a"

    def test_known_tokens_set_the_size_and_later_messages_add(self):
        session = after(
            said(Role.USER, "x" * 400), TurnStart(tokens=7), said(Role.ASSISTANT, "12345")
        )

        assert session.history.tokens == 7 + 2
        assert after(said(Role.USER, "x" * 99, tokens=50), session=session).history.tokens == 50

    def test_a_changed_history_has_a_new_length_and_size(self):
        session = after(*(said(Role.USER, str(n)) for n in range(5)))
        session = after(HistoryChanged(length=2, tokens=11, why="compaction"), session=session)

        assert (session.history.length, session.history.tokens) == (2, 11)
        assert [m.content for m in session.history.messages] == ["3", "4"]
        assert session.history.last_role == "user"

    def test_without_tokens_the_messages_that_stay_are_counted(self):
        session = after(*(said(Role.USER, "x" * 4 * n) for n in range(1, 6)))
        session = after(HistoryChanged(length=2), session=session)

        assert (session.history.length, session.history.tokens) == (2, 4 + 5)
        assert after(said(Role.USER, "1234"), session=session).history.tokens == 4 + 5 + 1

    def test_known_tokens_are_counted_anew_when_the_history_changes(self):
        session = after(said(Role.USER, "1234", tokens=900), HistoryChanged(length=1))

        assert session.history.tokens == 1

    def test_messages_outside_the_window_have_the_average_size(self):
        session = after(*(said(Role.USER, "12345678") for _ in range(WINDOW * 2)))
        session = after(HistoryChanged(length=WINDOW + 100), session=session)

        assert session.history.tokens == 2 * (WINDOW + 100)
        assert len(session.history.messages) == WINDOW

    @pytest.mark.parametrize("told", [(), (said(Role.USER, "12345678"),)])
    def test_a_history_that_grew_unseen_keeps_its_size(self, told):
        session = after(*told, HistoryChanged(length=9))

        assert session.history.length == 9
        assert session.history.tokens == 2 * len(told)

    @pytest.mark.parametrize("tokens", [{}, {"tokens": 0}])
    def test_an_emptied_history_is_as_if_nothing_had_been_said(self, tokens):
        """CM-050"""
        session = after(
            said(Role.USER, "u"),
            said(Role.ASSISTANT, "a"),
            call("t", result="r"),
            HistoryChanged(length=0, **tokens),
        )

        assert session.history == History()

    def test_the_window_shows_the_newest_and_the_counter_all(self):
        """TR-A18"""
        session = after(*(said(Role.USER, str(n)) for n in range(WINDOW + 50)))

        assert session.history.length == WINDOW + 50
        assert len(session.history.messages) == WINDOW
        assert session.history.messages[-1].content == str(WINDOW + 49)

    @pytest.mark.parametrize(
        ("fields", "text"),
        [
            ({"result": "done"}, "done"),
            ({"status": CallStatus.ERROR, "error": "no"}, "no"),
            ({"result": {"a": [1, None]}}, '{"a":[1,null]}'),
            ({}, ""),
        ],
    )
    def test_a_call_sets_the_last_tool_text(self, fields, text):
        """CM-A07: at `tool.after` it is the current one."""
        assert observe(Session(), call("t", **fields)).history.last_tool == text

    def test_a_call_that_never_happened_said_nothing(self):
        session = after(call("t", result="real"), call("t", CallStatus.CANCELLED, error="no"))

        assert session.history.last_tool == "real"
