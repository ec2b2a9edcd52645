"""What is wrong with the text of a Lua script."""

import subprocess
import sys

import pytest

from bylaw.expr.limits import MAX_SCRIPT_BYTES
from bylaw.expr.lua import LuaProblem, lua_available, lua_problem


def test_lua_is_there():
    assert lua_available()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "return true",
        "-- é\nreturn context.turn.number > 0",
        "while true do end",
        "os.exit(3)",
        "error('it is never run')",
        "return true --".ljust(MAX_SCRIPT_BYTES, "x"),
    ],
)
def test_a_good_script(text):
    assert lua_problem(text) is None


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("return = 1", 1, "unexpected symbol near '='"),
        ("\n\nif x then", 3, "'end' expected near <eof>"),
        ("if x then\n\n", 3, "'end' expected (to close 'if' at line 1) near <eof>"),
        ("x = 'é\n'", 1, "unfinished string near ''é'"),
        ("x = [[\n\n", 3, "unfinished long string (starting at line 1) near <eof>"),
        ("goto nowhere", 1, "no visible label 'nowhere' for <goto> at line 1"),
        ("break", 1, "break outside loop near 'break'"),
        ("local x <const> = 1\nx = 2", 2, "attempt to assign to const variable 'x'"),
        ("\x1bLuaU", 1, "attempt to load a binary chunk (mode is 't')"),
        ("#!/usr/bin/lua\nreturn 1", 1, "unexpected symbol near '#'"),
        ("return " + "(" * 9000, 1, "C stack overflow"),
        ("x" * (MAX_SCRIPT_BYTES + 1), 1, f"the script is longer than {MAX_SCRIPT_BYTES} bytes"),
    ],
)  # fmt: skip
def test_a_bad_script(text, line, message):
    found = lua_problem(text)

    assert isinstance(found, LuaProblem)
    assert found.line == line
    assert found.message.startswith(message)


def test_a_long_message_is_clipped():
    found = lua_problem("return " + "x" * 5000 + " y")

    assert len(found.message) <= 200
    assert "\n" not in found.message


def test_lua_is_loaded_when_it_is_needed():
    code = (
        "import sys, bylaw.expr.lua as lua; lua.lua_available();print('lupa.lua55' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"
