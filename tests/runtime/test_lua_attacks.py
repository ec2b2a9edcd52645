"""What scripts cannot do (TR-059, TR-A37): ways out of Lua that are known, and what takes too much."""

import json
import time
from typing import NamedTuple
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET

from bylaw.model.decision import ScriptCall
from bylaw.model.facts import ScriptResult
from bylaw.runtime import scripts
from bylaw.runtime.scripts import SCRIPT_SECONDS, ScriptRunner

STEPS = "the script took more than 10000000 steps"
MEMORY = "the script used more than 32 MiB of memory"


@pytest.fixture(scope="module")
def runner():
    with ScriptRunner() as one:
        yield one


def run(runner, script, context=None):
    return runner.run(ScriptCall(script, json.dumps(context or {}).encode()))


class Attack(NamedTuple):
    """A script and how it ends: a value, the beginning of an error, or several that will do."""

    script: str
    ends: object


def nil(name):
    return f"script:1: attempt to index a nil value (global '{name}')"


def not_there(name):
    return f"script:1: attempt to call a nil value (global '{name}')"


# Ends in the limit of steps, or in that of time on a machine that is busy.
SPENT = (STEPS, "killed")

ATTACKS = {
    # Ways out.
    "os.execute": Attack("return os.execute('id')", nil("os")),
    "os.exit": Attack("os.exit(0)", nil("os")),
    "io.open": Attack("io.open('/etc/passwd')", nil("io")),
    "io.popen": Attack("io.popen('id')", nil("io")),
    "require": Attack("require('os')", not_there("require")),
    "package.loadlib": Attack("package.loadlib('libc.so', 'system')", nil("package")),
    "load bytecode": Attack("load('\\27Lua')", not_there("load")),
    "loadstring": Attack("loadstring('return 1')", not_there("loadstring")),
    "dofile": Attack("dofile('/etc/passwd')", not_there("dofile")),
    "a script that is bytecode": Attack(
        "\x1bLuaU\x00\x19\x93\r\n\x1a\n", "attempt to load a binary chunk"
    ),
    "string.dump": Attack("string.dump(type)", "script:1: attempt to call a nil value (field 'dump')"),
    "dump as a method": Attack("return ('').dump == nil", True),
    "debug": Attack("debug.getregistry()", nil("debug")),
    "debug.sethook": Attack("debug.sethook()", nil("debug")),
    "getmetatable of texts": Attack(
        "getmetatable('').__index.rep = 1", not_there("getmetatable")
    ),
    "__index of texts": Attack("return ('').__index == nil and ('').__gc == nil", True),
    "__gc": Attack(
        "setmetatable({}, {__gc = function() while true do end end})", not_there("setmetatable")
    ),
    "__close": Attack(
        "local x <close> = {__close = type}", "script:1: variable 'x' got a non-closable value"
    ),
    "coroutine": Attack("coroutine.wrap(function() while true do end end)()", nil("coroutine")),
    "collectgarbage": Attack("collectgarbage('stop')", not_there("collectgarbage")),
    "rawset": Attack("rawset({}, 1, 1)", not_there("rawset")),
    "math.random": Attack("return math.random == nil and math.randomseed == nil", True),
    "_G": Attack("_G.os.exit()", nil("_G")),
    "_ENV": Attack("return _ENV.os == nil and _ENV._G == nil and _ENV._ENV == nil", True),
    "python": Attack("python.eval('1')", nil("python")),
    "python objects": Attack(
        "return context.__class__ == nil and ('').__class__ == nil and type.x == nil",
        "script:1: attempt to index a function value (global 'type')",
    ),
    "python iterators": Attack("for x in python.iter(context) do end", nil("python")),
    "print": Attack("print(1)", not_there("print")),
    "addresses": Attack("return (tostring(type) .. tostring({})):find('0x') == nil", True),
    "addresses by %p": Attack(
        "x = ('%p'):format({})", "script:1: invalid conversion '%p' to 'format'"
    ),
    "addresses by %10p": Attack("x = ('%-10p'):format({})", "script:1: invalid conversion '%p'"),
    "functions of the library changed": Attack(
        "string.sub, string.byte, table.concat, pcall = error, error, error, error"
        " return ('aXb'):gsub('%u', '-') == 'a-b'",
        True,
    ),
    # Time.
    "while true": Attack("while true do end", SPENT),
    "goto": Attack("::again:: goto again", SPENT),
    "for without end": Attack("for i = 1, math.huge do end", SPENT),
    "endless tail calls": Attack("local function f() return f() end f()", SPENT),
    "pcall swallows": Attack("while true do pcall(function() while true do end end) end", SPENT),
    "nested pcall": Attack(
        "local function f() pcall(f) while true do end end while true do pcall(f) end", SPENT
    ),
    "pcall of pcall": Attack("pcall(pcall, pcall, function() while true do end end) return true", SPENT),
    "handler of xpcall": Attack(
        "local function spin() while true do end end xpcall(spin, spin) return true", SPENT
    ),
    "handler that fails": Attack("return (xpcall(error, error))", False),
    "handler of itself": Attack(
        "local function f() return xpcall(f, f) end f() while true do end", SPENT
    ),
    "comparator": Attack(
        "pcall(table.sort, {1, 2, 3}, function() while true do end end) return true", SPENT
    ),
    "callback": Attack(
        "pcall(string.gsub, 'aa', 'a', function() while true do end end) return true", SPENT
    ),
    "iterator": Attack("for x in function() return 1 end do end", SPENT),
    "gmatch that is over": Attack(
        "local next = (('a'):rep(200)):gmatch('.-.-x') while true do next() end", SPENT
    ),
    "pattern .-.-.-.-b": Attack("return (('a'):rep(50) .. 'b'):find('.-.-.-.-.-.-x')", SPENT),
    "pattern a*a*a*": Attack("return ('a'):rep(3000):match('a*a*a*a*b')", SPENT),
    "pattern with options": Attack(
        "return ('a'):rep(70):match(('a?'):rep(70) .. ('a'):rep(70) .. 'b')", SPENT
    ),
    "pattern %b": Attack("return ('('):rep(20000):find('%b()')", SPENT),
    "pattern of back references": Attack("return ('a'):rep(400):find('(.*)(.*)%1%2b')", SPENT),
    "pattern of a large set": Attack(
        "for i = 1, 1e6 do local at = ('a'):rep(9):find('[' .. ('b'):rep(50000) .. i .. ']') end",
        SPENT,
    ),
    "gsub of patterns": Attack("return ('a'):rep(3000):gsub('.-.-b', '')", SPENT),
    "gsub that is anchored": Attack("return ('a'):rep(3000):gsub('^.-.-.-b', '')", SPENT),
    "plain find": Attack(
        "local s, p = ('a'):rep(100000), ('a'):rep(1000) .. 'b'"
        " for i = 1, 1e6 do s:find(p, 1, true) end",
        (*SPENT, MEMORY),
    ),
    "pattern in pcall": Attack(
        "while true do pcall(string.find, ('a'):rep(50), '.-.-.-.-.-.-x') end", SPENT
    ),
    "inserting at the front": Attack(
        "local t = {} for i = 1, 1e6 do table.insert(t, 1, i) end", SPENT
    ),
    "removing at the front": Attack(
        "local t = {} for i = 1, 1e5 do t[i] = i end"
        " while true do t[#t + 1] = 1 table.remove(t, 1) end",
        SPENT,
    ),
    "sorting again": Attack(
        "local t = {} for i = 1, 1e5 do t[i] = i end while true do table.sort(t) end", SPENT
    ),
    "pairs again": Attack(
        "local t = {} for i = 1, 1e5 do t[i] = i end while true do pairs(t) end", SPENT
    ),
    "unpacking again": Attack(
        "local t = {} while true do select('#', table.unpack(t, 1, 9999)) end", SPENT
    ),
    "repeating again": Attack("while true do local s = ('x'):rep(8000000) end", SPENT),
    "changing case again": Attack(
        "local s = ('x'):rep(2000000) while true do local t = s:upper() end", ("killed",)
    ),
    "comparing again": Attack(
        "local a, b = ('x'):rep(4000000), ('x'):rep(3999999) .. 'y'"
        " while true do local c = a < b end",
        ("killed",),
    ),
    "concatenating again": Attack(
        "local s = ('x'):rep(4000000) while true do local t = s .. 'y' end", ("killed",)
    ),
    # Memory.
    "rep": Attack("x = ('x'):rep(1e9)", "script:1: resulting string too large"),
    "rep of nothing": Attack("return (''):rep(1e18) == ''", True),
    "rep of a separator": Attack("x = (''):rep(1e18, 'x')", "script:1: resulting string too large"),
    "rep that overflows": Attack(
        "x = ('x'):rep(math.maxinteger, 'xyz')", "script:1: resulting string too large"
    ),
    "rep in pcall": Attack("return (pcall(string.rep, 'x', 1e10))", False),
    "doubling": Attack("local s = 'x' while true do s = s .. s end", MEMORY),
    "doubling in pcall": Attack(
        "local s = 'x' while true do pcall(function() while true do s = s .. s end end) end", MEMORY
    ),
    "memory in xpcall": Attack(
        "local function grow() local t = {} while true do t = {t, t} end end"
        " while true do xpcall(grow, grow) end",
        (MEMORY, *SPENT),
    ),
    "error that looks like the limit": Attack("pcall(error, 'not enough memory')", MEMORY),
    "tables": Attack("local t = {} while true do t[#t + 1] = {} end", (MEMORY, *SPENT)),
    "keys": Attack("local t, i = {}, 0 while true do i = i + 1 t['k' .. i] = i end", (MEMORY, *SPENT)),
    "closures": Attack(
        "local f = type while true do local g = f f = function() return g end end", (MEMORY, *SPENT)
    ),
    "concat with a large separator": Attack(
        "local t = {} for i = 1, 1000 do t[i] = i end return table.concat(t, ('x'):rep(1e6))", MEMORY
    ),
    "gsub that grows": Attack(
        "local s = 'x' while true do s = s:gsub('x', 'xxxxxxxxxx') end", (MEMORY, *SPENT)
    ),
    "format that grows": Attack(
        "local s = ('x'):rep(1e6) return ('%s'):rep(1e3):format(table.unpack({}, 1, 1000)) == s",
        False,
    ),
    "format with a width": Attack("x = ('%99999d'):format(1)", "script:1: invalid conversion"),
    "format with a precision": Attack("x = ('%.99999f'):format(1)", "script:1: invalid conversion"),
    "format with much of both": Attack("x = ('%' .. ('0'):rep(1e6) .. 'd'):format(1)", "script:1: invalid format"),
    "concat of nothing": Attack(
        "x = table.concat({}, '', 1, math.maxinteger)",
        "script:1: invalid value (nil) at index 1 in table for 'concat'",
    ),
    "unpack": Attack("table.unpack({}, 1, 1e8)", "script:1: too many results to unpack"),
    "unpack of all numbers": Attack(
        "table.unpack({}, math.mininteger, math.maxinteger)", "script:1: too many results to unpack"
    ),
    "byte": Attack("return select('#', ('x'):rep(8e6):byte(1, -1)) > 0", "script:1: "),
    "holes": Attack("local t = {} t[2^53], t[-1], t[math.maxinteger] = 1, 1, 1 return #t < 2^60", True),
    # Stacks.
    "deep recursion": Attack("local function f() return 1 + f() end f()", ("script:1: stack overflow", MEMORY)),
    "deep recursion in pcall": Attack(
        "local function f() return pcall(f) and 1 end f() while true do f() end", SPENT
    ),
    "recursion by callbacks": Attack(
        "local function f() return (('a'):gsub('a', f)) end f()", "stack overflow"
    ),
    "recursion by comparators": Attack(
        "local function f() table.sort({1, 2}, f) end f()", "stack overflow"
    ),
    "arguments without end": Attack(
        "local function f(...) return f(1, ...) end f()", ("script:1: stack overflow", MEMORY, *SPENT)
    ),
    "nested parentheses": Attack("return " + "(" * 9000 + "1" + ")" * 9000, "C stack overflow"),
    "nested tables": Attack("return " + "{" * 9000, "C stack overflow"),
    "nested functions": Attack("return " + "function() return " * 3000, "C stack overflow"),
    "operators without end": Attack("return " + "not " * 9000 + "1", "C stack overflow"),
    "concatenations without end": Attack("return " + "1 .. " * 9000 + "1", "C stack overflow"),
    "locals without end": Attack("local x = 1 " * 400, "script:1: too many local variables"),
    "few arguments of many (CVE-2014-5461)": Attack(
        f"local function f({', '.join(f'p{i}' for i in range(120))}, ...) end"
        " for i = 1, 100 do f() end return true",
        True,
    ),
    "_ENV that is constant (CVE-2022-28805)": Attack(
        "local _ENV <const> = 11; X = 'hi'", "script:1: attempt to index a number value"
    ),
    "iterator that cannot be called (CVE-2021-44647)": Attack(
        "local function f(...) for x in ... do end end f(1)",
        "script:1: attempt to call a number value",
    ),
    "errors in handlers (CVE-2020-24342)": Attack(
        "local function f() error(f) end return (xpcall(f, function() f() end))", False
    ),
    # Numbers.
    "smallest integer": Attack("return math.mininteger // -1 == math.mininteger", True),
    "smallest remainder": Attack("return math.mininteger % -1 == 0", True),
    "division by zero": Attack("return 1 // 0", "script:1: attempt to divide by zero"),
    "remainder by zero": Attack("return 1 % 0", "script:1: attempt to perform 'n%0'"),
    "loop at the largest integer": Attack(
        "local n = 0 for i = math.maxinteger - 2, math.maxinteger do n = n + 1 end return n == 3",
        True,
    ),
    "shifts": Attack("return 1 << 64 == 0 and 1 << -1 == 0 and 1 >> 100 == 0", True),
    "select of nothing": Attack("select(0)", "script:1: bad argument #1 to 'select' (index out of range)"),
    "select of too little": Attack("x = select(-5, 1)", "script:1: bad argument #1 to 'select'"),
}  # fmt: skip


def ends_as(result, end):
    if end == "killed":
        return result.killed is True
    if isinstance(end, str):
        return isinstance(result.error, str) and result.error.startswith(end)
    return result.value is end


@pytest.mark.usefixtures("patient_scripts")
class TestAttacks:
    """Each ends within the limit, and the next script is run as if nothing had been."""

    @pytest.mark.parametrize("name", ATTACKS)
    def test_it_fails(self, runner, name):
        script, ends = ATTACKS[name]
        may_be_killed = isinstance(ends, tuple) and "killed" in ends
        seconds = SCRIPT_SECONDS if may_be_killed else scripts.SCRIPT_SECONDS
        with mock.patch.object(scripts, "SCRIPT_SECONDS", seconds):
            result = run(runner, script)

        assert any(ends_as(result, end) for end in (ends if isinstance(ends, tuple) else [ends])), (
            result
        )
        assert run(runner, "return context.a == 1", {"a": 1}) == ScriptResult(value=True)

    def test_three_processes_say_the_same(self):
        # Those that may be killed depend on the machine.
        scripts = [one.script for one in ATTACKS.values() if not isinstance(one.ends, tuple)]
        told = []
        for _ in range(3):
            with ScriptRunner() as runner:
                told.append([run(runner, script) for script in scripts])

        assert told[0] == told[1] == told[2]
        errors = [result.error for result in told[0] if result.error]
        assert len(errors) > 50
        assert not [text for text in errors if "0x" in text or "?:" in text or "\n" in text]


WORDS = """\
and break do else elseif end false for function goto if in local nil not or repeat return then true
until while global a b c a.b a[1] a() {} {a=1} {1,2} ( ) [ ] = , ; : :: .. ... + - * / // % ^ # & ~
| << >> == ~= < <= > >= 0 1 -1 1e308 0x7fffffffffffffff 'x' "%s" [[y]] context pairs ipairs next
pcall(a) xpcall error assert select tostring tonumber type string.rep('x',9) string.format a:gsub
('x'):find('.-') table.sort table.concat table.unpack({}) math.huge math.mininteger <const> <close>
"""


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(WORDS.split()), max_size=25).map(" ".join))
def test_no_script_breaks_the_process(runner, script):
    begin = time.monotonic()
    result = run(runner, script, {"a": [1, {"b": "c"}]})

    assert result.killed is UNSET or time.monotonic() - begin >= SCRIPT_SECONDS
