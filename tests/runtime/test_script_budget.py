"""The budget of instructions ends a script before the clock does, with the same words each time."""

import pytest

from bylaw.model.decision import ScriptCall
from bylaw.runtime.scripts import ScriptRunner


@pytest.mark.parametrize(
    "script",
    [
        "while true do end",
        "pcall(function() while true do end end) return true",
        "local function f() return f() end return f()",
    ],
)
def test_an_endless_loop_is_an_error_and_not_a_kill(script):
    with ScriptRunner() as runner:
        result = runner.run(ScriptCall(script, b"{}"))

    assert result.error == "the script took more than 10000000 steps"
