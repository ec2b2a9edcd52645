"""What scripts see and what they return (TR-A37)."""

import json

import pytest

from bylaw.model.decision import ScriptCall
from bylaw.model.facts import ScriptResult
from bylaw.runtime.scripts import ScriptRunner


@pytest.fixture(scope="module")
def runner():
    with ScriptRunner() as one:
        yield one


def run(runner, script, context=None):
    return runner.run(ScriptCall(script, json.dumps(context or {}).encode()))


class TestResults:
    """TR-058."""

    @pytest.mark.parametrize(
        ("script", "value"),
        [
            ("return true", True),
            ("return false", False),
            ("return nil", None),
            ("return", None),
            ("", None),
            ("-- nothing", None),
        ],
    )
    def test_values(self, runner, script, value):
        assert run(runner, script) == ScriptResult(value=value)

    @pytest.mark.parametrize(
        ("script", "error"),
        [
            ("return 1", "the script returned a number, not true, false or nil"),
            ("return ''", "the script returned a string, not true, false or nil"),
            ("return {}", "the script returned a table, not true, false or nil"),
            ("return type", "the script returned a function, not true, false or nil"),
            ("return true, 1", "the script returned more than one value"),
            ("return nil, nil", "the script returned more than one value"),
            ("error('no')", "script:1: no"),
            ("\n\nerror('a\\nb\\0c')", "script:3: a b c"),
            ("error('plain', 0)", "plain"),
            ("error(12)", "12"),
            ("error('', 0)", "the script raised an empty error"),
            ("error({})", "the script raised a table as its error"),
            ("error(type)", "the script raised a function as its error"),
            ("error(true)", "the script raised a boolean as its error"),
            ("error('\\xff\\xc3', 0)", "\ufffd\ufffd"),
            ("error('é', 0)", "é"),
            ("error(('é'):rep(600), 0)", "é" * 199 + "…"),
            ("local x = context.a.b", "script:1: attempt to index a nil value (field 'a')"),
            ("return #... == 0", "script:1: attempt to get length of a nil value"),
            ("return = 1", "script:1: unexpected symbol near '='"),
        ],
    )
    def test_errors(self, runner, script, error):
        assert run(runner, script) == ScriptResult(error=error)


CONTEXT = {
    "turn": {"number": 3, "usage": 0.5},
    "list": [1, None, "x", [True], {"a": None}],
    "none": None,
    "large": [2**63, -(2**63), -(2**63) - 1, 10**30],
    "text": 'é\0"',
    "": {"1": "text key"},
    "empty": [{}, []],
}


class TestContext:
    """TR-060: a script gets plain tables, of which it may do anything with its copy."""

    @pytest.mark.parametrize(
        "condition",
        [
            "context.turn.number == 3 and math.type(context.turn.number) == 'integer'",
            "context.turn.usage == 0.5",
            "context.none == nil and context.list[2] == nil and context.list[3] == 'x'",
            "context.list[4][1] == true and context.list[5].a == nil",
            "math.type(context.large[1]) == 'float' and context.large[1] == 2^63",
            "context.large[2] == math.mininteger",
            "math.type(context.large[3]) == 'float' and math.type(context.large[4]) == 'float'",
            "context.text == 'é\\0\"' and #context.text == 4",
            "context['']['1'] == 'text key' and context[''][1] == nil",
            "#context.empty == 2 and next(context.empty[1]) == nil",
        ],
    )
    def test_values(self, runner, condition):
        assert run(runner, f"return {condition}", CONTEXT) == ScriptResult(value=True)

    def test_nothing_in_it_is_an_object(self, runner):
        script = """
        local plain = { table = true, string = true, number = true, boolean = true }
        local function check(value)
          if not plain[type(value)] then error(type(value)) end
          if type(value) == "table" then
            for key, inner in pairs(value) do check(key) check(inner) end
          end
        end
        check(context)
        return true
        """

        assert run(runner, script, CONTEXT) == ScriptResult(value=True)

    def test_what_a_script_changes_is_seen_by_no_other(self, runner):
        change = """
        context.turn.number, context.new, string.rep, kept = 99, 1, nil, true
        return context.turn.number == 99
        """
        look = "return context.turn.number == 3 and not context.new and not kept and ('x'):rep(2) == 'xx'"

        assert run(runner, change, CONTEXT) == ScriptResult(value=True)
        assert run(runner, look, CONTEXT) == ScriptResult(value=True)

    @pytest.mark.parametrize(
        "data",
        [b"", b"[]", b"null", b"{", b'{"a": "\\ud800"}', b"\xff", b'{"a": ' + b"[" * 99_999],
    )
    def test_anything_else_is_an_error(self, runner, data):
        result = runner.run(ScriptCall("return true", data))

        assert result == ScriptResult(
            error="the context is not a JSON object that a script can read"
        )

    def test_it_may_be_large(self, runner):
        context = {"texts": ["x" * 1000 for _ in range(3000)]}

        assert run(runner, "return #context.texts == 3000", context) == ScriptResult(value=True)


class TestEnvironment:
    def test_names(self, runner):
        names = """assert context error ipairs math next pairs pcall select string table tonumber
            tostring type xpcall"""
        script = f"""
        local names = {{}}
        for name in pairs(_ENV) do names[#names + 1] = name end
        return table.concat(names, " ") == ("{" ".join(names.split())}")
        """

        assert run(runner, script) == ScriptResult(value=True)

    @pytest.mark.parametrize(
        ("library", "names"),
        [
            ("string", "byte char find format gmatch gsub len lower match rep reverse sub upper"),
            ("table", "concat insert pack remove sort unpack"),
        ],
    )
    def test_libraries(self, runner, library, names):
        script = f"""
        local names = {{}}
        for name in pairs({library}) do names[#names + 1] = name end
        return table.concat(names, " ") == "{names}"
        """

        assert run(runner, script) == ScriptResult(value=True)

    @pytest.mark.parametrize(
        "condition",
        [
            "tostring({}) == 'table' and tostring(tostring) == 'function'",
            "('%s %s'):format({}, type) == 'table function'",
            "tostring(nil) == 'nil' and tostring(1.0) == '1.0' and tostring(true) == 'true'",
            "('%5.1f|%-4s|%03d|%%'):format(1.25, 'a', 7) == '  1.2|a   |007|%'",
            "('%q|%x|%c'):format('q', 255, 65) == '\"q\"|ff|A'",
            "('x'):rep(3, ',') == 'x,x,x' and ('x'):rep(0) == '' and ('x'):rep(-1) == ''",
            "('key=value'):match('^(%w+)=(%w+)$') == 'key'",
            "('a b c'):gsub(' ', '_') == 'a_b_c'",
            "('abc'):upper():lower():reverse():sub(1, 2) == 'cb' and ('abc'):len() == 3",
            "select('#', table.unpack({1, 2, 3})) == 3 and select(-1, 1, 2, 3) == 3",
            "table.concat({1, 2, 3}, '-') == '1-2-3' and table.pack(1, nil).n == 2",
            "pcall(error, 'x') == false and select(2, pcall(error, 'x')) == 'x'",
            "select(2, xpcall(error, function(e) return e .. '!' end, 'x')) == 'x!'",
            "xpcall(function(a) return a end, error, 1) == true",
            "next({}) == nil and next({a = 1}) == 'a' and next({5}) == 1",
            "next({1, 2, a = 1}, 2) == 'a' and next({a = 1, b = 2}, 'b') == nil",
            "math.floor(2.5) == 2 and math.max(1, 2) == 2 and math.pi > 3",
            "tonumber('0x10') == 16 and tonumber('z', 36) == 35 and tonumber('x') == nil",
        ],
    )
    def test_functions(self, runner, condition):
        assert run(runner, f"return {condition}") == ScriptResult(value=True)

    def test_tables_are_changed_as_in_lua(self, runner):
        script = """
        local t = {1, 2, 3}
        table.insert(t, 4)
        table.insert(t, 1, 0)
        assert(table.concat(t) == "01234")
        assert(table.remove(t) == 4 and table.remove(t, 1) == 0 and #t == 3)
        local queue = {}
        for i = 1, 5000 do table.insert(queue, #queue + 1, i) end
        while #queue > 0 do table.remove(queue, 1) end
        return #queue == 0
        """

        assert run(runner, script) == ScriptResult(value=True)

    @pytest.mark.parametrize(
        "script",
        [
            "local t = {5, 2, 9, 1} table.sort(t) return table.concat(t, ' ') == '1 2 5 9'",
            "local t = {5.5, 2, 9, 1} table.sort(t) return table.concat(t, ' ') == '1 2 5.5 9'",
            "local t = {'b', 'a'} table.sort(t) return table.concat(t) == 'ab'",
            "local t = {1, 2} table.sort(t, function(a, b) return a > b end) return t[1] == 2",
            "local t = {} table.sort(t) table.sort(t, error) return #t == 0",
        ],
    )
    def test_sorting(self, runner, script):
        assert run(runner, script) == ScriptResult(value=True)

    def test_what_is_equal_keeps_its_order(self, runner):
        script = """
        local t = {}
        for i = 1, 1000 do t[i] = {key = i * 7 % 5, at = i} end
        table.sort(t, function(a, b) return a.key < b.key end)
        for i = 2, 1000 do
          local a, b = t[i - 1], t[i]
          if a.key > b.key or a.key == b.key and a.at > b.at then return false end
        end
        return true
        """

        assert run(runner, script) == ScriptResult(value=True)

    def test_pairs_are_in_order(self, runner):
        script = """
        local t = {b = 1, a = 1, [3] = 1, [1.5] = 1, [-1] = 1, [true] = 1, [false] = 1}
        local seen = {}
        for key in pairs(t) do seen[#seen + 1] = tostring(key) end
        local again, key = {}, next(t)
        while key ~= nil do again[#again + 1], key = tostring(key), next(t, key) end
        local order = "-1 1.5 3 a b false true"
        return table.concat(seen, " ") == order and table.concat(again, " ") == order
        """

        assert run(runner, script) == ScriptResult(value=True)

    def test_a_table_may_be_changed_while_it_is_read(self, runner):
        script = """
        local t, seen = {a = 1, b = 2, c = 3}, ""
        for key in pairs(t) do seen = seen .. key t[key], t.b = nil, nil end
        return seen == "ac"
        """

        assert run(runner, script) == ScriptResult(value=True)

    @pytest.mark.parametrize(
        ("script", "error"),
        [
            ("x = ('a'):rep({})", "bad argument #2 to 'rep' (number expected, got table)"),
            (
                "x = ('a'):rep(1.5)",
                "bad argument #2 to 'rep' (number has no integer representation)",
            ),
            ("x = ('a'):find('[a')", "malformed pattern (missing ']')"),
            ("x = ('a'):gsub('a', '%2')", "invalid capture index %2"),
            (
                "x = ('%d'):format('x')",
                "bad argument #2 to 'string.format' (number expected, got string)",
            ),
            ("pairs(nil)", "bad argument #1 to 'pairs' (table expected, got nil)"),
            ("for k in pairs({[{}] = 1}) do end", "a key that is a table has no order"),
            ("next({[type] = 1})", "a key that is a function has no order"),
            ("table.sort({1, 'a'})", "attempt to compare number with string"),
            ("table.sort({{}, {}})", "attempt to compare two table values"),
            ("table.sort({1}, 1)", "bad argument #2 to 'sort' (function expected, got number)"),
            (
                "table.insert({}, 5, 1)",
                "bad argument #2 to 'table.insert' (position out of bounds)",
            ),
            ("table.insert(1, 1)", "bad argument #1 to 'insert' (table expected, got number)"),
            ("xpcall(type, 1)", "bad argument #2 to 'xpcall' (function expected, got number)"),
            ("x = table.concat({{}})", "invalid value (table) at index 1 in table for 'concat'"),
        ],
    )
    def test_errors_of_functions_stand_in_the_line_of_the_script(self, runner, script, error):
        assert run(runner, f"\n{script}") == ScriptResult(error=f"script:2: {error}")
