"""A request as Anthropic's Messages take it."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bylaw.hosts.chat.blocks import (
    Image,
    ModelCall,
    ModelOptions,
    Request,
    RequestMessage,
    ToolSpec,
)
from bylaw.hosts.chat.models.anthropic import DEFAULT_MAX_TOKENS, anthropic_request
from bylaw.hosts.chat.models.base import ModelError
from bylaw.model.vocabulary import Role

PNG = "data:image/png;base64,aGk="


def text(words):
    return {"type": "text", "text": words}


def sent(*messages, **more):
    return anthropic_request("claude", Request(messages=messages, **more))


def said(role, words="", **more):
    return RequestMessage(role=role, text=words, **more)


class TestInstructions:
    def test_those_at_the_beginning_are_the_system_prompt(self):
        request = sent(
            said(Role.SYSTEM, "be kind"),
            said(Role.DEVELOPER, "be brief"),
            said(Role.SYSTEM, " "),
            said(Role.USER, "hi"),
        )

        assert request["system"] == [text("be kind"), text("be brief")]
        assert request["messages"] == [{"role": "user", "content": [text("hi")]}]

    def test_later_ones_are_wrapped_where_they_stand(self):
        request = sent(
            said(Role.USER, "hi"),
            said(Role.DEVELOPER, "be brief"),
            said(Role.ASSISTANT, "hello"),
            said(Role.SYSTEM, "be kind"),
            said(Role.DEVELOPER, "  "),
        )

        brief = text("<system-reminder>\nbe brief\n</system-reminder>")
        kind = text("<system-reminder>\nbe kind\n</system-reminder>")
        assert "system" not in request
        assert request["messages"] == [
            {"role": "user", "content": [text("hi"), brief]},
            {"role": "assistant", "content": [text("hello")]},
            {"role": "user", "content": [kind]},
        ]


class TestMessages:
    def test_calls_results_and_what_comes_behind_them(self):
        calls = (ModelCall("c-1", "read", '{"a": 1}'), ModelCall("c-2", "write", "{}"))
        request = sent(
            said(Role.USER, "go"),
            said(Role.ASSISTANT, "", calls=calls),
            said(Role.TOOL, "one", answers="c-1"),
            said(Role.TOOL, "denied", answers="c-2", failed=True),
            said(Role.DEVELOPER, "careful"),
        )

        assert request["messages"][1:] == [
            {
                "role": "assistant",
                "content": [
                    {"type": "tool_use", "id": "c-1", "name": "read", "input": {"a": 1}},
                    {"type": "tool_use", "id": "c-2", "name": "write", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c-1", "content": [text("one")]},
                    {
                        "type": "tool_result",
                        "tool_use_id": "c-2",
                        "content": [text("denied")],
                        "is_error": True,
                    },
                    text("<system-reminder>\ncareful\n</system-reminder>"),
                ],
            },
        ]

    def test_an_empty_result_has_no_content(self):
        request = sent(said(Role.TOOL, "", answers="c"))

        assert request["messages"][0]["content"] == [{"type": "tool_result", "tool_use_id": "c"}]

    def test_empty_messages_are_left_out(self):
        request = sent(
            said(Role.USER, "a"), said(Role.ASSISTANT, " \n"), said(Role.USER, "b"), said(Role.USER)
        )

        assert request["messages"] == [{"role": "user", "content": [text("a"), text("b")]}]

    @pytest.mark.parametrize("arguments", ["{", "[1]", '"x"', "", '{"a": 1, "a": 2}', "NaN"])
    def test_arguments_that_are_no_object_stand_in_one(self, arguments):
        request = sent(said(Role.ASSISTANT, calls=(ModelCall("c", "t", arguments),)))

        assert request["messages"][0]["content"][0]["input"] == {"arguments": arguments}

    def test_what_the_api_refuses_is_sent_in_another_form(self):
        calls = (ModelCall("a.b", "file.read", "{}"), ModelCall("a:b", "file/read", "{}"))
        request = sent(
            said(Role.ASSISTANT, calls=calls),
            said(Role.TOOL, "1", answers="a.b"),
            said(Role.TOOL, "2", answers="a:b"),
        )["messages"]

        ids = [block["id"] for block in request[0]["content"]]
        assert [block["tool_use_id"] for block in request[1]["content"]] == ids
        assert len(set(ids)) == 2
        assert len({block["name"] for block in request[0]["content"]}) == 2

    @given(
        st.lists(
            st.builds(
                lambda **known: RequestMessage(**known),  # noqa: PLW0108 - its own signature cannot be read
                role=st.sampled_from(Role),
                text=st.sampled_from(["", " ", "x", "<y>"]),
                calls=st.lists(
                    st.builds(
                        ModelCall, st.text(max_size=5), st.text(max_size=5), st.text(max_size=5)
                    ),
                    max_size=2,
                ).map(tuple),
                answers=st.text(max_size=5),
            )
        )
    )
    def test_the_demands_of_the_api_hold_for_every_chat(self, messages):
        request = sent(*messages)

        roles = [message["role"] for message in request["messages"]]
        blocks = [block for message in request["messages"] for block in message["content"]]
        assert all(one != other for one, other in pairwise(roles))
        assert all(message["content"] for message in request["messages"])
        assert all(block["text"].strip() for block in blocks if block["type"] == "text")
        for block in blocks:
            if block["type"] == "tool_use":
                assert isinstance(block["input"], dict)
                assert re.fullmatch("[A-Za-z0-9_-]{1,64}", block["id"])
                assert re.fullmatch("[A-Za-z0-9_-]{1,64}", block["name"])


class TestPictures:
    def test_addresses_and_data(self):
        images = (Image("https://example.org/a.png"), Image(PNG))

        content = sent(said(Role.USER, "look", images=images))["messages"][0]["content"]

        data = {"type": "base64", "media_type": "image/png", "data": "aGk="}
        assert content == [
            text("look"),
            {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
            {"type": "image", "source": data},
        ]

    def test_a_result_and_a_reminder_may_show_one(self):
        result, reminder = sent(
            said(Role.TOOL, "", answers="c", images=(Image(PNG),)),
            said(Role.DEVELOPER, "see", images=(Image(PNG),)),
        )["messages"][0]["content"][:3:2]

        assert result["content"][0]["type"] == "image"
        assert reminder["type"] == "image"

    @pytest.mark.parametrize("role", [Role.SYSTEM, Role.ASSISTANT])
    def test_others_may_not(self, role):
        with pytest.raises(ModelError, match=f"role `{role}`"):
            sent(said(role, "x", images=(Image(PNG),)))

    @pytest.mark.parametrize("url", ["a.png", "data:image/svg+xml;base64,aGk=", "data:image/png,x"])
    def test_other_forms_are_refused(self, url):
        with pytest.raises(ModelError, match="cannot send the image"):
            sent(said(Role.USER, "x", images=(Image(url),)))


class TestTheRest:
    def test_nothing_is_said_of_what_is_not_set(self):
        assert sent() == {"model": "claude", "max_tokens": DEFAULT_MAX_TOKENS, "messages": []}

    def test_options(self):
        request = sent(options=ModelOptions(max_tokens=10, temperature=0.0, reasoning_effort="low"))

        assert request["max_tokens"] == 10
        assert request["output_config"] == {"effort": "low"}
        assert request["extra_body"] == {"temperature": 0.0}
        assert request["extra_headers"] == {"anthropic-version": "2023-06-01"}

    def test_tools(self):
        schema = {"type": "object", "properties": {}}
        tools = (ToolSpec("read", "Reads.", schema), ToolSpec("now", "", schema))

        assert sent(tools=tools)["tools"] == [
            {"name": "read", "description": "Reads.", "input_schema": schema},
            {"name": "now", "input_schema": schema},
        ]
