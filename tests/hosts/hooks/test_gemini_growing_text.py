"""Gemini CLI tells at a stop all that was said since the prompt; what was judged is not new."""

import json
import subprocess

import pytest
from called_hooks import COMMAND, Repository
from recorded import recorded

BYLAW = COMMAND[:-1]
PAYLOADS = {one.name: one for one in recorded() if one.host == "gemini"}
NO_PLANS = """[[MODULE]]
name: work
description: Work without plans.

[[PROTOCOL]]
protocols:
  - id: quiet
    rules:
      - id: no_plan
        check:
          type: forbid_block
          block_type: PLAN
[[/PROTOCOL]]

[[COMMAND]]
name: quiet
effects:
  enable:
    protocols: [quiet]
[[/COMMAND]]
[[/MODULE]]
"""
POLICY = """---
trigger: src/**
---
Look at it.
"""
NAMED = ["-c", "user.name=a", "-c", "user.email=a@b"]
PLAN = "[[PLAN]]\n1. do\n[[/PLAN]]"


@pytest.fixture
def repository(tmp_path):
    made = Repository(tmp_path / "root", tmp_path / "home")
    made.write(".bylaw/context/work.md", NO_PLANS)
    return made


def call(repository, name, **changed):
    """As the client did it, in this repository, without a transcript."""
    one = PAYLOADS[f"gemini-cli/{name}"]
    kept = {key: value for key, value in one.payload.items() if key != "transcript_path"}
    payload = {**kept, "cwd": str(repository.root), "session_id": "s", **changed}
    return repository.raw("gemini", one.event, data=json.dumps(payload).encode())


def stop(repository, *said):
    """All that was said since the prompt, as the client puts it together."""
    return call(repository, "AfterAgent.second", prompt_response="\n".join(said))


def goes_on(repository, blocked):
    """The client announces what blocked as a prompt."""
    reason = blocked.answer["reason"]
    assert call(repository, "BeforeAgent.after-a-block", prompt=reason).code == 0


def said(repository):
    log = repository.raw("log", "--format", "json", command=BYLAW)
    found = [json.loads(line) for line in log.stdout.splitlines()]
    return [
        one["event"]["text"]
        for one in found
        if one["kind"] == "message" and one["event"]["role"] == "assistant"
    ]


def test_the_client_puts_new_words_behind_the_old_ones():
    told = [
        PAYLOADS[f"gemini-cli/AfterAgent.{name}"].process_notices for name in ("second", "third")
    ]

    assert told[1].text == f"{told[0].text}\nThird end."
    assert all(one.grows for one in told)


def test_a_violation_can_be_put_right(repository):
    assert call(repository, "BeforeAgent", prompt="/quiet()").code == 0
    blocked = stop(repository, PLAN)
    assert "no_plan" in blocked.answer["reason"]
    goes_on(repository, blocked)

    assert stop(repository, PLAN, "Without a plan.").code == 0
    assert said(repository) == [PLAN, "Without a plan."]


def test_a_new_violation_blocks_again_and_can_be_put_right(repository):
    call(repository, "BeforeAgent", prompt="/quiet()")
    other = PLAN.replace("do", "do more")
    goes_on(repository, stop(repository, "Hm.", PLAN))
    blocked = stop(repository, "Hm.", PLAN, other)
    assert blocked.code == 2
    goes_on(repository, blocked)

    assert stop(repository, "Hm.", PLAN, other, "Done.").code == 0
    assert said(repository) == [f"Hm.\n{PLAN}", other, "Done."]


def test_what_does_not_begin_with_it_is_judged_as_a_whole(repository):
    call(repository, "BeforeAgent", prompt="/quiet()")
    goes_on(repository, stop(repository, PLAN))

    assert stop(repository, "So:", PLAN).code == 2


def test_a_new_prompt_begins_anew(repository):
    call(repository, "BeforeAgent", prompt="/quiet()")
    goes_on(repository, stop(repository, PLAN))
    call(repository, "BeforeAgent", prompt="And now?")

    assert stop(repository, PLAN, "Done.").code == 2


def test_an_old_promise_does_not_count_again(repository):
    """It was made before anybody had asked for it."""
    repository.write(".bylaw/context/work.md", "")
    repository.write(".deepwork/policies/look.md", POLICY)
    for words in (["init", "-q"], ["add", "-A"], [*NAMED, "commit", "-qm", "first"]):
        subprocess.run(["git", *words], cwd=repository.root, check=True)
    repository.write("src/app.py", "print(1)\n")
    call(repository, "BeforeAgent")
    early = "Working. <promise>look</promise>"
    blocked = stop(repository, early)
    assert "Look at it." in blocked.answer["reason"]
    goes_on(repository, blocked)

    assert stop(repository, early, "I am done.").code == 2
    assert stop(repository, early, "I am done.", "Really. <promise>look</promise>").code == 0
