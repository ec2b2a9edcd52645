"""A request as OpenAI's Chat Completions takes it."""

import pytest

from bylaw.hosts.chat.blocks import (
    Image,
    ModelCall,
    ModelOptions,
    Request,
    RequestMessage,
    ToolSpec,
)
from bylaw.hosts.chat.models.base import ModelError
from bylaw.hosts.chat.models.openai import openai_request
from bylaw.model.vocabulary import Role

PNG = "data:image/png;base64,aGk="


def sent(*messages, **more):
    return openai_request("gpt", Request(messages=messages, **more))


def message(role, text="", **more):
    return sent(RequestMessage(role=role, text=text, **more))["messages"][0]


class TestMessages:
    @pytest.mark.parametrize("role", ["system", "developer", "user", "assistant"])
    def test_roles_stay_what_they_are(self, role):
        assert message(Role(role), "hi") == {"role": role, "content": "hi"}

    def test_calls_and_their_responses_are_tied_by_ids(self):
        calls = (ModelCall("c-1", "read", '{"a": 1}'), ModelCall("c-2", "write", "not JSON"))
        said = sent(
            RequestMessage(role=Role.ASSISTANT, text="", calls=calls),
            RequestMessage(role=Role.TOOL, text="one", answers="c-1"),
            RequestMessage(role=Role.TOOL, text="it failed", answers="c-2", failed=True),
        )

        first = {"name": "read", "arguments": '{"a": 1}'}
        second = {"name": "write", "arguments": "not JSON"}
        assert said["messages"] == [
            {
                "role": "assistant",
                "tool_calls": [
                    {"id": "c-1", "type": "function", "function": first},
                    {"id": "c-2", "type": "function", "function": second},
                ],
            },
            {"role": "tool", "tool_call_id": "c-1", "content": "one"},
            {"role": "tool", "tool_call_id": "c-2", "content": "it failed"},
        ]

    def test_text_beside_calls_is_kept(self):
        calls = (ModelCall("c", "t", "{}"),)

        assert message(Role.ASSISTANT, "look", calls=calls)["content"] == "look"

    def test_what_the_api_refuses_is_sent_in_another_form(self):
        call = ModelCall("x" * 128, "file.read", "{}")
        said = sent(
            RequestMessage(role=Role.ASSISTANT, text="", calls=(call,)),
            RequestMessage(role=Role.TOOL, text="", answers=call.id),
        )["messages"]

        made = said[0]["tool_calls"][0]
        assert len(made["id"]) == 40
        assert said[1]["tool_call_id"] == made["id"]
        assert made["function"]["name"].startswith("file_read_")

    def test_an_id_of_any_characters_is_sent_as_it_is(self):
        calls = (ModelCall("functions.read:0", "read", "{}"),)

        made = message(Role.ASSISTANT, calls=calls)["tool_calls"]

        assert made[0]["id"] == "functions.read:0"


class TestPictures:
    def test_addresses_and_data_are_parts_of_the_content(self):
        images = (Image("https://example.org/a.png"), Image(PNG))

        assert message(Role.USER, "look", images=images)["content"] == [
            {"type": "text", "text": "look"},
            {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
            {"type": "image_url", "image_url": {"url": PNG}},
        ]

    def test_a_picture_needs_no_text(self):
        content = message(Role.USER, images=(Image(PNG),))["content"]

        assert [part["type"] for part in content] == ["image_url"]

    @pytest.mark.parametrize(
        "url", ["a.png", "file:///etc/passwd", "data:text/html;base64,aGk=", ""]
    )
    def test_other_addresses_are_refused(self, url):
        with pytest.raises(ModelError, match="cannot send the image"):
            message(Role.USER, images=(Image(url),))

    @pytest.mark.parametrize("role", [Role.SYSTEM, Role.DEVELOPER, Role.ASSISTANT, Role.TOOL])
    def test_only_users_show_pictures(self, role):
        with pytest.raises(ModelError, match=f"role `{role}`: move it to a user message"):
            message(role, "x", images=(Image(PNG),))


class TestTheRest:
    def test_nothing_is_said_of_what_is_not_set(self):
        assert sent() == {
            "model": "gpt",
            "messages": [],
            "stream_options": {"include_usage": True},
        }

    def test_options(self):
        options = ModelOptions(max_tokens=10, temperature=0.0, reasoning_effort="low")

        said = sent(options=options)

        assert said["max_completion_tokens"] == 10
        assert said["temperature"] == 0.0
        assert said["reasoning_effort"] == "low"

    def test_tools(self):
        schema = {"type": "object", "properties": {}}
        tools = (ToolSpec("read", "Reads.", schema), ToolSpec("now", "", schema))

        described = {"name": "read", "description": "Reads.", "parameters": schema}
        assert sent(tools=tools)["tools"] == [
            {"type": "function", "function": described},
            {"type": "function", "function": {"name": "now", "parameters": schema}},
        ]
