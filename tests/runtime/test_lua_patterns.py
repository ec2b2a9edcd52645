"""Patterns in Lua do what Lua's own functions in C do: the same results, the same errors."""

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lupa import lua55

import bylaw.runtime

FOLDER = Path(bylaw.runtime.__file__).parent / "lua"
ALLOWANCE = b"local MAX_FAST_STEPS = 5e7"

# Calls a function of C and the one of the same name in Lua; says what is different, if anything.
COMPARE = """
local patterns_text, strings_text = ...
local function relay(ok, ...)
  if ok then return ... end
  error(..., 0)
end
local function refuse(message) error(message, 0) end
local function charge() end
local patterns = load(patterns_text, "=patterns")(charge, relay)
local ours = load(strings_text, "=strings")(patterns, charge, relay, refuse, tostring)

local function shown(results)
  local texts = {}
  for place = 1, results.n do
    local value = results[place]
    texts[place] = (math.type(value) or type(value)) .. " " .. tostring(value)
  end
  return table.concat(texts, ", ")
end

local function all_of(gmatch)
  return function(...)
    local texts, count = {}, 0
    local iterator = gmatch(...)
    repeat
      local results = table.pack(iterator())
      count = count + 1
      texts[count] = shown(results)
    until results[1] == nil or count > 200
    return table.concat(texts, "; "), shown(table.pack(iterator()))
  end
end

local function called(repl)
  if repl ~= "function" then return repl end
  return function(...)
    local results = table.pack(...)
    if results[1] == "a" then return nil end
    return shown(results)
  end
end

local function outcome(strings, name, subject, pattern, third, fourth)
  local f = strings[name]
  if name == "gmatch" then f = all_of(f) end
  return shown(table.pack(pcall(f, subject, pattern, called(third), fourth)))
end

return function(name, ...)
  local theirs = outcome(string, name, ...)
  local found = outcome(ours, name, ...)
  -- C names what called it, and finds its own name among all that are loaded.
  theirs = theirs:gsub("'string%.", "'"):gsub('%[string "<python>"%]:%d+: ', "")
  if theirs == found then return nil end
  return "C: " .. theirs .. "\\nLua: " .. found
end
"""


def comparing(allowance):
    """A function that compares, with an allowance for C in ours."""
    texts = {name: (FOLDER / f"{name}.lua").read_bytes() for name in ("patterns", "strings")}
    assert ALLOWANCE in texts["strings"]
    strings = texts["strings"].replace(ALLOWANCE, b"local MAX_FAST_STEPS = " + allowance)
    # The texts are read as they stand, so that a mistake has a line.
    runtime = lua55.LuaRuntime(encoding="latin-1", max_memory=0, string_hash_seed=1)
    return runtime.execute(COMPARE, texts["patterns"], strings)


SLOW, FAST = comparing(b"-1"), comparing(b"1e300")

TOKENS = [
    *"ab1 .()[]^$*+-?%\0\xe4",
    *("%a", "%d", "%s", "%w", "%A", "%p", "%z", "%%", "%.", "%y", "()", "(.)", "(a*)", "(b?)"),
    *("[ab]", "[^a]", "[a-c%d]", "[]]", "[^]]", "[a-]", "[%]]", "[a%", "[^", "[%a-z]", "[^\0]"),
    *("%b()", "%bab", "%b", "%ba", "%b\0a", "%f[%w]", "%f[^a]", "%f[%z]", "%f", "%f["),
    *("%0", "%1", "%2", "%9", ".-", ".*", "a+", "%s*", "[ab]-"),
]
patterns = st.lists(st.sampled_from(TOKENS), max_size=9).map("".join)
subjects = st.text(alphabet="aab1 ()[]%^.\0\xe4", max_size=14)
inits = st.one_of(st.none(), st.integers(-20, 20))
repls = st.one_of(
    st.just("function"),
    st.lists(st.sampled_from(["%0", "%1", "%2", "%%", "%", "x", "%a", "-"]), max_size=4).map(
        "".join
    ),
    st.integers(-1, 1),
)
BOTH = pytest.mark.parametrize("compare", [SLOW, FAST], ids=["slow", "fast"])
MANY = settings(max_examples=500, deadline=None)


@BOTH
class TestAgainstC:
    @MANY
    @given(subjects, patterns, inits, st.booleans())
    @example("THE (quick) fox", "%((%a+)%)", None, False)
    @example("key = value", "^(%w+)%s*=%s*(%w+)$", None, False)
    @example("a.b", ".", 2, True)
    @example("a\0b", "\0", None, False)
    @example("", "^*", None, False)
    @example("aaa", "(a)()%2", None, False)
    @example("", "", 1, False)
    @example("abc", "", 4, False)
    @example("abc", "", 5, False)
    def test_find(self, compare, subject, pattern, init, plain):
        assert compare("find", subject, pattern, init, plain) is None

    @MANY
    @given(subjects, patterns, inits)
    def test_match(self, compare, subject, pattern, init):
        assert compare("match", subject, pattern, init) is None

    @MANY
    @given(subjects, patterns, inits)
    @example("^a^b", "^%a", None)
    @example("abc", "b*", None)
    @example("abc", "", None)
    def test_gmatch(self, compare, subject, pattern, init):
        assert compare("gmatch", subject, pattern, init) is None

    @MANY
    @given(subjects, patterns, repls, inits)
    @example("abc", "b*", "-", None)
    @example("hello world", "(o)", "<%1>", 1)
    @example("abc", "(b", "x", None)
    @example("abc", "(b", "%1", None)
    @example("abc", "(b", "function", None)
    @example("abc", "%w", "%", None)
    def test_gsub(self, compare, subject, pattern, repl, most):
        assert compare("gsub", subject, pattern, repl, most) is None

    @pytest.mark.parametrize(
        "pattern",
        [
            "a?" * 199,
            "a?" * 200,
            "a*" * 199,
            "a*" * 200,
            "a-" * 250,
            "()" * 32,
            "()" * 33,
            "(" * 32,
            "(a" * 33,
            "a" * 3000,
            "[" + "b" * 3000 + "]",
            "%f[a]" * 300,
        ],
    )
    def test_bounds(self, compare, pattern):
        for subject in ("", "a" * 250):
            assert compare("find", subject, pattern) is None
            assert compare("gsub", subject, pattern, "x") is None

    @pytest.mark.parametrize(
        "arguments",
        [
            ("find", None, "a"),
            ("find", "a", None),
            ("find", "a", "a", "x"),
            ("find", "a", "a", 1.5),
            ("find", 12, 2),
            ("find", "12", 2, "2"),
            ("match", True, "a"),
            ("match", "a", False),
            ("gmatch", "a", None),
            ("gsub", "a", "a", None),
            ("gsub", "a", "a", True),
            ("gsub", "a", "a", "b", "x"),
            ("gsub", "a1", "%d", 2.5),
        ],
    )
    def test_arguments(self, compare, arguments):
        assert compare(*arguments) is None


@BOTH
def test_every_byte_is_in_the_same_classes(compare):
    for letter in "acdglpsuwxACDGLPSUWX.":
        item = letter if letter == "." else f"%{letter}"
        for code in range(256):
            assert compare("find", chr(code), item) is None
            assert compare("match", chr(code), f"[^{item}]") is None
