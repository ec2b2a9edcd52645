"""A Lua condition in its own process, beside a plain call of lupa and one trip through a pipe.

The plain call does what has to be done for every event: a new runtime, the context as tables, the
script compiled and called; no sandbox, no limits. The trip sends the same bytes to a process that
only reads them and answers with as many bytes as ours.
"""

from __future__ import annotations

import json
import sys
from time import monotonic
from typing import TYPE_CHECKING, Any

from lupa import lua55
from table import Lap, Row, race

from bylaw.model.decision import ScriptCall
from bylaw.runtime.sandbox.command import Process
from bylaw.runtime.scripts import ScriptRunner

if TYPE_CHECKING:
    from collections.abc import Callable

AT_MOST = 3
RECORDS = 200

SMALL = {
    "turn": {"number": 7, "token_usage": 0.62, "has_pending_tool_calls": False},
    "history": {"message_count": 14, "total_tool_calls": 9, "ever_called": ["shell", "edit"]},
    "result": {"tool_name": "shell", "success": True, "result_size": 1480},
    "user": {"id": "user-1", "settings": {"language": "en"}},
}
SMALL_SCRIPT = """\
local turn, history = context.turn, context.history
if turn.token_usage < 0.5 then return false end
return history.total_tool_calls > 5 and context.result.tool_name == "shell"
"""
LARGE = {
    **SMALL,
    "tools": [
        {
            "name": f"tool_{number % 9}",
            "args": {"path": f"src/module_{number}.py", "limit": number},
            "success": number % 7 != 0,
            "turn": number // 4,
        }
        for number in range(RECORDS)
    ],
}
LARGE_SCRIPT = """\
local failed = 0
for _, call in ipairs(context.tools) do
  if not call.success and call.args.path:sub(1, 4) == "src/" then failed = failed + 1 end
end
return failed > 20
"""
ECHO = """\
import os
requests = open(0, "rb", buffering=1 << 16)
while size := requests.read(4):
    requests.read(int.from_bytes(size, "big"))
    os.write(1, b"0000t")
"""


def run() -> list[Row]:
    """A small context, and one with many calls of tools."""
    return [
        _row("a few facts", SMALL, SMALL_SCRIPT, AT_MOST),
        _row(f"{RECORDS} calls of tools", LARGE, LARGE_SCRIPT, AT_MOST),
    ]


def _row(name: str, context: dict[str, Any], script: str, budget: float | None) -> Row:
    call = ScriptCall(script, json.dumps(context, separators=(",", ":")).encode())
    request = script.encode() + call.input
    echo = Process([sys.executable, "-I", "-S", "-c", ECHO])
    with ScriptRunner() as runner:
        assert runner.run(call).value is _plain(context, script)(None) is True
        times = race(
            {
                "ours": Lap(lambda _: runner.run(call), [None]),
                "plain": Lap(_plain(context, script), [None]),
                "trip": Lap(_trip(echo, request), [None]),
            },
            # Two processes take turns, so that a busy machine shows at once: many short rounds.
            rounds=200,
            round_seconds=0.002,
        )
    echo.kill()
    inside = (
        f"a script and {len(call.input):,} bytes of JSON to the process and back, against a plain "
        "call of lupa in a new runtime and a trip of the same bytes through a pipe"
    )
    return Row(name, inside, times["ours"], times["plain"] + times["trip"], budget, faster=False)


def _plain(context: dict[str, Any], script: str) -> Callable[[None], object]:
    def call(_: None) -> object:
        runtime = lua55.LuaRuntime(register_eval=False, register_builtins=False)
        runtime.globals().context = runtime.table_from(context, recursive=True)
        return runtime.compile(script)()

    return call


def _trip(echo: Process, request: bytes) -> Callable[[None], object]:
    message = len(request).to_bytes(4, "big") + request

    def call(_: None) -> object:
        deadline = monotonic() + 10
        echo.send(message, deadline)
        return echo.receive(deadline)

    return call
