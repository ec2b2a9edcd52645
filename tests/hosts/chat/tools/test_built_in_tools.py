"""The table of built-in tools: every name makes its tool, and every tool says what it is."""

import json

import pytest
from chat_folder import untrusted

from bylaw.hosts.chat.tools.base import ToolError
from bylaw.hosts.chat.tools.declarations import BUILT_IN_NAMES, make_built_in
from bylaw.languages.chatmd.header import BuiltInTool, ReadRoot
from bylaw.runtime.trust import Trust

SEEN = {
    "read_file": "read_file",
    "get_contents": "read_file",
    "read_dir": "read_directory",
    "read_directory": "read_directory",
    "append_to_file": "append_to_file",
    "find_and_replace": "find_and_replace",
    "apply_patch": "apply_patch",
}


def test_the_names():
    assert set(SEEN) == BUILT_IN_NAMES


@pytest.mark.parametrize("name", SEEN)
def test_what_the_model_sees(chat, name):
    tool = make_built_in(BuiltInTool(name), chat.files, untrusted)
    assert tool.spec.name == SEEN[name]
    assert name in (tool.spec.name, *tool.also)
    assert tool.spec.parameters["additionalProperties"] is False
    for one in tool.spec.parameters["properties"].values():
        assert one["description"]
    assert json.loads(json.dumps(tool.spec.parameters)) == tool.spec.parameters


@pytest.mark.parametrize("name", SEEN)
def test_no_arguments_break_a_tool(chat, name):
    tool = make_built_in(BuiltInTool(name), chat.files, untrusted)
    for args in ({"x": 1}, {"file": {}}, {"path": [], "patch": None}, {"": ""}):
        with pytest.raises(ToolError):
            tool.run(args)


def test_others_are_unknown(chat):
    assert make_built_in(BuiltInTool("webpage_to_markdown"), chat.files, untrusted) is None


@pytest.mark.parametrize("path", ["data", "${workspace}/data", "{root}/data"])
def test_read_roots(chat, path):
    chat.put("data/value", "inside")
    root = ReadRoot("data", path.replace("{root}", str(chat.root)), "What is known.")
    tool = make_built_in(BuiltInTool("get_contents", (root,)), chat.files, untrusted)
    assert tool.run({"root": "data", "file": "value"}) == "inside"


def test_read_roots_outside(chat):
    declared = BuiltInTool("read_file", (ReadRoot("up", "../outside"),))
    assert (
        make_built_in(declared, chat.files, Trust.for_one_run).run({"file": "secret"}) == "secret"
    )
    with chat.refused("this chat is not trusted"):
        make_built_in(declared, chat.files, untrusted).run({"file": "secret"})
