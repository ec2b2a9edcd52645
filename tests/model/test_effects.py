"""Steps: every parameter by its name."""

from typing import get_args

import msgspec
import pytest

from bylaw.model.effects import CommandRun, MessageInsert, Notify, Outcome, OutcomePart, Step
from bylaw.model.vocabulary import Op, Role

PARAMETERS = {
    "message.insert": "role text to",
    "tool.call": "tool args",
    "agent.run": "src input",
    "history.compact": "keep strategy threshold_tokens",
    "state.set": "space name value",
    "rules.enable": "responses workflows protocols",
    "response.use": "id",
    "notify": "text category priority deliver_at",
    "log": "text level",
    "event.emit": "type payload",
    "command.run": "argv cwd timeout_s check_idempotent files root_at",
    "lock.acquire": "key",
    "lock.release": "key",
    "bus.write": "channel text",
    "approval.request": "to text",
    "prompt.show": "policy text files missing arrows title mode",
    "baseline.capture": "ref",
    "entry.write": "hash status policy baseline trigger_files expected_files matched_files"
    " digest shown command result",
    "output.replace": "text",
}


def test_every_op_has_its_parameters():
    found = {cls.op.value: " ".join(cls.__struct_fields__) for cls in get_args(Step)}

    assert found == PARAMETERS
    assert set(found) == {op.value for op in Op} - {"answer"}
    assert all(cls.__struct_config__.tag == cls.op for cls in get_args(Step))


def test_a_step_is_written_with_all_its_parameters():
    """Printed effects show defaults too (TR-073, TR-075, TR-078)."""
    assert msgspec.json.encode(Notify(text="x")) == (
        b'{"op":"notify","text":"x","category":"info","priority":"normal",'
        b'"deliver_at":"turn_start"}'
    )


@pytest.mark.parametrize(
    "text", ["plain", Outcome(OutcomePart.ERROR), ("exit ", Outcome(OutcomePart.EXIT_CODE))]
)
def test_a_text_can_refer_to_outcomes_alone_or_inside(text):
    step = MessageInsert(role=Role.DEVELOPER, text=text)

    assert msgspec.json.decode(msgspec.json.encode(step), type=Step) == step


def test_a_reference_is_written_as_an_object():
    step = MessageInsert(role=Role.DEVELOPER, text=("failed: ", Outcome(OutcomePart.ERROR)))

    assert b'"text":["failed: ",{"outcome":"error"}]' in msgspec.json.encode(step)


def test_data_that_looks_like_a_reference_stays_data():
    step = msgspec.json.decode(
        b'{"op":"tool.call","tool":"t","args":{"a":{"outcome":"error"}}}', type=Step
    )

    assert step.args == {"a": {"outcome": "error"}}


def test_steps_are_frozen():
    step = CommandRun(argv=("npm", "test"), cwd="src", timeout_s=60)

    with pytest.raises(AttributeError):
        step.cwd = "/"
