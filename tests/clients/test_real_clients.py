"""What rules of all languages do to real clients: processes, hooks, and a model that says a script."""

import pytest
from stand import DONE

from conftest import HOSTS

# OpenCode says that its agent stopped when it has.
cannot_be_held = pytest.mark.parametrize("stand", ["opencode"], indirect=True)
can_be_held = pytest.mark.parametrize("stand", [h for h in HOSTS if h != "opencode"], indirect=True)

SOURCE = "mkdir -p src tests; echo 'A = 1' > src/app.py"
TEST = "echo 'B = 1' > tests/app_test.py"

DENY = """\
<rules>
  <on id="no-touch" event="pre_tool_call" tool="shell" if="text_contains('zebra', 'last_user')">
    <deny reason="zebras are not to be touched"/>
  </on>
</rules>
"""
AFTER = """\
<rules>
  <on id="remember" event="post_tool_response" tool="shell">
    <insert role="developer">remember to water the plants</insert>
  </on>
</rules>
"""
QUOTA = """\
<policy><tool name="shell"><quota per_session="2"/></tool></policy>
"""
VALIDATE = """\
<policy>
  <tool name="shell">
    <validate><check if="arg('command') != 'touch secret'" message="secrets stay untouched"/></validate>
  </tool>
</policy>
"""
PAIRS = """\
---
name: Source and tests
set:
  - src/{path}.py
  - tests/{path}_test.py
---
{trigger_files} changed without {expected_files}.
"""
NOTICE = """\
[rule]
id = "{id}"
name = "{id}"
description = "{id}"
trigger = "{trigger}"

[condition]
expression = "True"

[action]
type = "notify_self"
message = "a notice for {id}"
category = "info"
deliver_at = "{point}"
"""
PROTOCOL = """\
Work without a shell

[[MODULE]]
name: hands
description: Hands off.

[[PROTOCOL]]
protocols:
  - id: hands_off
    description: Nothing is run, nothing is looked up.
    rules:
      - id: no_shell
        check:
          type: forbid_tool
          tool: shell
      - id: no_browsing
        check:
          preset: no_browsing
[[/PROTOCOL]]

[[COMMAND]]
name: hands_off
description: From now on nothing is run.
effects:
  enable:
    protocols: [hands_off]
[[/COMMAND]]
[[/MODULE]]
"""


def test_a_denied_call_does_not_run_and_the_model_reads_why(stand):
    stand.chatmd(DENY)

    run = stand.run(stand.shell("touch ran"), prompt="a zebra, please")

    assert not stand.has("ran"), str(run)
    assert run.told("zebras are not to be touched"), str(run)
    assert run.told("guard.chatmd:2"), str(run)
    assert run.rounds == 2, str(run)


def test_what_a_rule_adds_after_a_call_reaches_the_model(stand):
    stand.chatmd(AFTER)

    run = stand.run(stand.shell("touch ran"))

    assert stand.has("ran"), str(run)
    assert run.told("remember to water the plants"), str(run)


def test_a_quota_counts_over_several_calls(stand):
    stand.chatmd(QUOTA)

    run = stand.run(*(stand.shell(f"touch ran{n}") for n in (1, 2, 3)))

    assert [stand.has(f"ran{n}") for n in (1, 2, 3)] == [True, True, False], str(run)
    assert run.told("quota"), str(run)


def test_a_policy_of_chatmd_checks_arguments(stand):
    stand.chatmd(VALIDATE)

    run = stand.run(stand.shell("touch public"), stand.shell("touch secret"))

    assert stand.has("public"), str(run)
    assert not stand.has("secret"), str(run)
    assert run.told("secrets stay untouched"), str(run)


def test_a_session_goes_on_in_another_process(stand):
    stand.chatmd(QUOTA)

    first = stand.run(stand.shell("touch ran1"), stand.shell("touch ran2"))
    resumed = stand.run(stand.shell("touch ran3"), again=True, prompt="go on")
    fresh = stand.run(stand.shell("touch ran4"))

    assert (stand.has("ran1"), stand.has("ran2")) == (True, True), str(first)
    assert not stand.has("ran3"), str(resumed)
    assert stand.has("ran4"), str(fresh)


@can_be_held
def test_a_stop_is_blocked_until_the_test_is_there(stand):
    stand.write(".deepwork/policies/pairs.md", PAIRS)

    run = stand.run(stand.shell(SOURCE), DONE, stand.shell(TEST))

    assert run.told("tests/app_test.py"), str(run)
    assert run.rounds == 4, str(run)  # the call, a stop that is blocked, the test, the last stop


@can_be_held
def test_a_stop_that_nothing_settles_is_let_go_in_the_end(stand):
    stand.write(".deepwork/policies/pairs.md", PAIRS)

    run = stand.run(stand.shell(SOURCE), *[DONE] * 10)

    assert run.rounds == 2 + 3, str(run)  # the call, the first stop, and as often as it is blocked


@cannot_be_held
def test_what_would_have_blocked_a_stop_is_told_when_the_session_goes_on(stand):
    stand.write(".deepwork/policies/pairs.md", PAIRS)

    run = stand.run(stand.shell(SOURCE))
    resumed = stand.run(DONE, again=True, prompt="go on")

    assert run.rounds == 2, str(run)
    assert resumed.told("tests/app_test.py"), str(resumed)


def test_notices_of_toml_rules_come_at_their_three_points(stand):
    for trigger, point in (
        ("on_query_start", "turn_start"),
        ("on_tool_call", "after_tool"),
        ("on_tool_complete", "immediate"),
    ):
        text = NOTICE.format(id=point.replace("_", "-"), trigger=trigger, point=point)
        stand.write(f".bylaw/rules/{point}.toml", text)

    run = stand.run(stand.shell("touch ran"))

    assert stand.has("ran"), str(run)
    for point in ("turn-start", "after-tool", "immediate"):
        assert run.told(f"a notice for {point}"), f"{point}: {run}"


def test_a_protocol_is_enabled_by_a_line_of_the_prompt(stand):
    stand.write(".bylaw/context/hands.md", PROTOCOL)

    free = stand.run(stand.shell("touch ran1"))
    bound = stand.run(stand.shell("touch ran2"), prompt="please\n/hands_off()\nand then do it")

    assert stand.has("ran1"), str(free)
    assert not stand.has("ran2"), str(bound)
    assert bound.told("no_shell"), str(bound)


def test_a_gate_is_closed_when_bylaw_fails(stand):
    stand.write(".bylaw/state/journal.db/in-the-way", "")

    run = stand.run(stand.shell("touch ran"))

    assert not stand.has("ran"), str(run)
