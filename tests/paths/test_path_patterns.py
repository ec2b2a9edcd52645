"""Path patterns: what matches, what is captured, what is refused and where it is underlined."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bylaw.model.codes import Code
from bylaw.model.codes import templates as codes
from bylaw.model.errors import PatternError, PolicyError
from bylaw.model.source import SourceFile, Span
from bylaw.paths import (
    check_resolvable,
    check_same_variables,
    is_normalised,
    normalise,
    parse_pattern,
    pattern,
)
from bylaw.paths.matcher import linear_regex, match_by_parts
from bylaw.paths.syntax import MAX_ALTERNATIVES, MAX_PATH, MAX_PATTERN

SECONDS = 120
MATCHES = [
    ("DW-019", "src/{path}.py", "src/foo/bar.py", {"path": "foo/bar"}),
    ("DW-020", "tests/{path}_test.py", "tests/foo/bar_test.py", {"path": "foo/bar"}),
    ("DW-021", "src/{path}.py", "src/a.py", {"path": "a"}),
    ("DW-021", "src/{path}.py", "src/a/b.py", {"path": "a/b"}),
    ("DW-022", "src/{name}.py", "src/utils.py", {"name": "utils"}),
    ("DW-023", "{module}/{name}.py", "auth/login.py", {"module": "auth", "name": "login"}),
    ("DW-024", "src/{**}.py", "src/a/b.py", {}),
    ("DW-025", "src/{*}.py", "src/a.py", {}),
    ("DW-026", "src/a+b(1).py", "src/a+b(1).py", {}),
    ("DW-029", "README.md", "README.md", {}),
    ("DW-030", "src/**/*.py", "src/a.py", {}),
    ("DW-030", "src/**/*.py", "src/a/b/c.py", {}),
    ("DW-030", "**/*.py", "main.py", {}),
    ("DW-030", "*.py", "main.py", {}),
    ("DW-030", "src/**/*", "src/foo.py", {}),
    ("DW-030", "src/?.py", "src/a.py", {}),
    ("DW-A02", "src/**", "src/a/b/c", {}),
    ("DW-A02", "**", "a", {}),
    ("DW-A02", "**/**/x", "x", {}),
    ("DW-031", "src/{module}/**/*.py", "src/auth/x/y.py", {"module": "auth"}),
    ("DW-037", "{module_2}.py", "a.py", {"module_2": "a"}),
    ("DW-038", "*.{js,ts}", "a.js", {}),
    ("DW-038", "*.{js,ts}", "a.ts", {}),
    ("DW-A04", "{src,lib/core}/*.py", "lib/core/a.py", {}),
    ("DW-A04", "{a,b,a}/x", "a/x", {}),
    ("DW-A50", "{path2}/x", "a/x", {"path2": "a"}),
    ("DW-A50", "{größe}.txt", "3.txt", {"größe": "3"}),
    ("hidden", "*", ".env", {}),
    ("hidden", "**/*.yml", ".github/workflows/ci.yml", {}),
    ("newline", "src/{path}.py", "src/a\nb.py", {"path": "a\nb"}),
    ("newline", "src/{name}.py", "src/a\nb\n.py", {"name": "a\nb\n"}),
    ("backslash", "src/{name}.py", "src/a\\b.py", {"name": "a\\b"}),
    ("surrogate", "src/{name}.py", "src/\udcff.py", {"name": "\udcff"}),
    ("greedy", "{a}-{b}.py", "x-y-z.py", {"a": "x-y", "b": "z"}),
    ("greedy", "**/{a}/**/x", "p/q/r/x", {"a": "r"}),
    ("greedy", "**/src/{path}.py", "src/src/a.py", {"path": "a"}),
    ("greedy", "{**}-{path}", "a-b/c-d", {"path": "d"}),
    ("dots", "src/{name}.py", "src/....py", {"name": "..."}),
]


@pytest.mark.parametrize(("why", "text", "path", "captures"), MATCHES)
def test_match(why, text, path, captures):
    assert pattern(text).match(path) == captures


NO_MATCHES = [
    ("DW-019", "src/{path}.py", "src/foo/bar.txt"),
    ("DW-021", "src/{path}.py", "src/.py"),
    ("DW-022", "src/{name}.py", "src/foo/bar.py"),
    ("DW-023", "{module}/{name}.py", "a/b/c.py"),
    ("DW-025", "src/{*}.py", "src/a/b.py"),
    ("DW-025", "src/{*}.py", "src/.py"),
    ("DW-026", "src/{path}.py", "src/axpy"),
    ("DW-027", "src/a.py", "src/a.pyc"),
    ("DW-027", "src/a.py", "x/src/a.py"),
    ("DW-027", "src/a.py", "src/a.py\n"),
    ("DW-028", "src/{path}.py", "SRC/foo.py"),
    ("DW-030", "*.py", "src/main.py"),
    ("DW-030", "src/**/*.py", "lib/a.py"),
    ("DW-030", "src/**/*.py", "src/a.pyi"),
    ("DW-030", "README.md", "docs/README.md"),
    ("DW-A02", "src/**", "src"),
    ("DW-A02", "a?b", "a/b"),
    ("DW-038", "*.{js,ts}", "a.jsx"),
    ("DW-034", "src/{path}.py", "src/../etc/x.py"),
    ("DW-A07", "src/{path}.py", "src//a.py"),
    ("DW-A07", "src/{path}.py", "src/..py"),
    ("DW-A07", "src/{path}.py", "src/a/...py"),
    ("DW-A07", "src/{name}.py", "src/...py"),
    ("DW-A07", "src{path}.py", "src/a.py"),
    ("DW-A07", "a{path}", "a./b"),
    ("too long", "**", "a/" * (MAX_PATH // 2) + "b"),
    ("too long", "**", "ä" * (MAX_PATH // 2 + 1)),
    ("nul", "**", "a\0b"),
    ("empty", "**", ""),
]


@pytest.mark.parametrize(("why", "text", "path"), NO_MATCHES)
def test_no_match(why, text, path):
    assert pattern(text).match(path) is None


def test_a_path_may_have_4096_bytes():
    assert pattern("**").match("ä" * (MAX_PATH // 2)) == {}


REFUSED: list[tuple[str, str, Code, str]] = [
    ("DW-036", "src/{path.py", codes.UNBALANCED_BRACE, "{"),
    ("DW-036", "src/path}.py", codes.UNBALANCED_BRACE, "}"),
    ("DW-036", "src/{{path}.py", codes.UNBALANCED_BRACE, "{"),
    ("DW-037", "src/{my-var}.py", codes.INVALID_VARIABLE_NAME, "{my-var}"),
    ("DW-037", "{1a}", codes.INVALID_VARIABLE_NAME, "{1a}"),
    ("DW-037", "x/{}", codes.INVALID_VARIABLE_NAME, "{}"),
    ("DW-037", "{path/name}", codes.INVALID_VARIABLE_NAME, "{path/name}"),
    ("DW-037", "{***}", codes.INVALID_VARIABLE_NAME, "{***}"),
    ("DW-038", "src/ab].py", codes.UNSUPPORTED_PATTERN_SYNTAX, "]"),
    ("DW-038", "!src/x", codes.UNSUPPORTED_PATTERN_SYNTAX, "!"),
    ("DW-038", "src\\x", codes.UNSUPPORTED_PATTERN_SYNTAX, "\\"),
    ("DW-038", "src/{a,{b,c}}.py", codes.NESTED_BRACE, "{"),
    ("DW-A04", "/src", codes.PATTERN_OUTSIDE_ROOT, "/"),
    ("DW-A04", "src/../x", codes.PATTERN_OUTSIDE_ROOT, ".."),
    ("DW-A04", "./x", codes.PATTERN_OUTSIDE_ROOT, "."),
    ("DW-A04", "{a,..}/x", codes.PATTERN_OUTSIDE_ROOT, ".."),
    ("DW-A04", "x/{.,b}/c", codes.PATTERN_OUTSIDE_ROOT, "."),
    ("DW-A04", "x/{b,..}", codes.PATTERN_OUTSIDE_ROOT, ".."),
    ("DW-A04", "{a/../b,c}", codes.PATTERN_OUTSIDE_ROOT, ".."),
    ("DW-A04", "{a,./b}.py", codes.PATTERN_OUTSIDE_ROOT, "."),
    ("DW-A04", "**/{a,..}/x", codes.PATTERN_OUTSIDE_ROOT, ".."),
    ("DW-A04", "{.,a}./x", codes.PATTERN_OUTSIDE_ROOT, ".,a}."),
    ("DW-A04", "x/.{a,.}", codes.PATTERN_OUTSIDE_ROOT, ".{a,."),
    ("DW-A04", "{a,b/.}{c,.}/x", codes.PATTERN_OUTSIDE_ROOT, ".}{c,."),
    ("DW-A04", "", codes.EMPTY_PATTERN, ""),
    ("DW-A04", "*.{js,}", codes.BAD_ALTERNATIVE, "{js,}"),
    ("DW-A04", "*.{js, ts}", codes.BAD_ALTERNATIVE, " ts"),
    ("DW-A04", "{*.js,x}", codes.BAD_ALTERNATIVE, "*.js"),
    ("DW-A04", "{a/,x}", codes.BAD_ALTERNATIVE, "a/"),
    ("DW-A04", "{a,[b}", codes.BAD_ALTERNATIVE, "[b"),
    ("DW-039", "{path}/{path}.py", codes.REPEATED_VARIABLE, "{path}"),
    ("DW-A08", "{path}{name}.py", codes.ADJACENT_VARIABLES, "{path}{name}"),
    ("DW-A08", "{a}*{b}", codes.ADJACENT_VARIABLES, "{a}*{b}"),
    ("stars", "src/**.py", codes.UNSUPPORTED_PATTERN_SYNTAX, "**"),
    ("stars", "a***", codes.UNSUPPORTED_PATTERN_SYNTAX, "***"),
    ("segments", "a//b", codes.EMPTY_SEGMENT, "//"),
    ("segments", "a/", codes.EMPTY_SEGMENT, "/"),
    ("wildcards", "*/" * 8 + "{last}", codes.TOO_MANY_WILDCARDS, "{last}"),
    ("control", "a\0b", codes.CONTROL_CHARACTER_IN_PATTERN, "\0"),
    ("control", "{a\n,b}", codes.CONTROL_CHARACTER_IN_PATTERN, "\n"),
    ("long", "a" * MAX_PATTERN + "b", codes.PATTERN_TOO_LONG, "b"),
]


@pytest.mark.parametrize(("why", "text", "code", "underlined"), REFUSED)
def test_refused_at_load(why, text, code, underlined):
    """DW-035: found when the pattern is read, with the place inside a larger text."""
    source = SourceFile("bad.md", f"trigger: {text}\nnext: line\n")
    with pytest.raises(PatternError) as caught:
        parse_pattern(source, Span(9, 9 + len(text)))

    (found,) = caught.value.diagnostics
    assert (found.code, found.underlined) == (code.name, underlined)
    assert found.span.start >= 9
    assert found.help
    assert issubclass(PatternError, PolicyError)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (".{env,git}", ".env"),
        ("{.a,..b}/{...,c}", ".a/..."),
        ("{a,.}{b,.}{c,.}", "..."),
        ("x{.,a}", "x."),
        ("{.,a}*", ".x"),
    ],
)
def test_dots_that_are_no_whole_segment(text, path):
    assert pattern(text).match(path) == {}


def test_all_mistakes_are_told_in_order():
    with pytest.raises(PatternError) as caught:
        pattern("!src//[a]")

    assert [d.underlined for d in caught.value.diagnostics] == ["!", "//", "[", "]"]


def test_a_near_name_is_offered_as_a_fix():
    with pytest.raises(PatternError) as caught:
        pattern("src/{my-var}.py")

    (found,) = caught.value.diagnostics
    assert found.help == "write `{my_var}`"
    assert found.fix
    assert found.fix.text == "{my_var}"


def test_too_many_alternatives():
    many = ",".join(map(str, range(MAX_ALTERNATIVES + 1)))
    with pytest.raises(PatternError) as caught:
        pattern(f"x.{{{many}}}")

    assert caught.value.diagnostics[0].headline == "33 alternatives, at most 32 are allowed"


def watched(cases):
    """What a process of its own says of each case; the clock is watched from outside."""
    given = "".join(json.dumps(case) + "\n" for case in cases)
    command = [sys.executable, Path(__file__).parent / "match_patterns.py"]
    ended = subprocess.run(
        command, input=given, stdout=subprocess.PIPE, text=True, timeout=SECONDS, check=True
    )
    return [json.loads(line) for line in ended.stdout.splitlines()]


def test_huge_garbage_ends():
    pieces = ["{", "}", "[", "**a", "{a,", "{-}", "a//", "\ud800", "\n"]
    longest = [(piece * MAX_PATTERN)[: MAX_PATTERN - 1] + "{" for piece in pieces]
    cases = [[piece, 5_000_000, []] for piece in pieces] + [[text, 1, []] for text in longest]
    found = watched(cases)

    assert [word for word, _ in found] == ["refused"] * len(cases)
    assert all(1 <= count <= 20 for _, count in found)


def test_every_code_has_an_example_that_provokes_it():
    for code in (value for value in vars(codes).values() if isinstance(value, Code)):
        if not code.example.kind.startswith("pattern"):
            continue  # the codes of templates
        assert code.name in {d.code for d in _provoke(code)}, code.name


def _provoke(code):
    if code.example.kind == "pattern":
        with pytest.raises(PatternError) as caught:
            pattern(code.example.text)
        return caught.value.diagnostics
    first, second = map(pattern, code.example.text.split("\n"))
    if code.example.kind == "pattern-pair":
        return check_resolvable(second, first)
    return check_same_variables([first, second])


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("src/../etc/x.py", "etc/x.py"),
        ("./a//b/./c/", "a/b/c"),
        ("a\\b", "a\\b"),
        (".env", ".env"),
        ("...", "..."),
        ("", None),
        (".", None),
        ("a/..", None),
        ("..", None),
        ("a/../../b", None),
        ("/etc/passwd", None),
        ("a\0b", None),
        ("a" * (MAX_PATH + 1), None),
    ],
)
def test_normalise(path, expected):
    """DW-034"""
    assert normalise(path) == expected
    assert is_normalised(path) == (path == expected)


RESOLVED = [
    ("DW-032", "tests/{path}_test.py", {"path": "foo/bar"}, "tests/foo/bar_test.py"),
    ("DW-032", "docs/api/{path}.md", {"path": "users"}, "docs/api/users.md"),
    ("DW-033", "docs/{path}/{name}.md", {"path": "{name}", "name": "x"}, "docs/{name}/x.md"),
    ("DW-033", "docs/{path}/{name}.md", {"name": "x", "path": "{name}"}, "docs/{name}/x.md"),
    ("DW-A06", "{a}/{b}", {"a": "*", "b": "{js,ts}"}, "*/{js,ts}"),
    ("DW-A05", "x.md", {"path": "unused"}, "x.md"),
]


@pytest.mark.parametrize(("why", "text", "captures", "expected"), RESOLVED)
def test_resolve(why, text, captures, expected):
    resolved = pattern(text).resolve(captures)

    assert resolved.literal == resolved.text == expected
    assert resolved.match(expected) == {}
    assert not resolved.variables


def test_globs_remain_and_captured_text_stays_literal():
    """DW-A02: the looked-up side may keep globs; DW-033: a captured `*` is no glob."""
    resolved = pattern("docs/{name}/**/*.{md,rst}").resolve({"name": "a*"})

    assert resolved.text == "docs/a*/**/*.{md,rst}"
    assert resolved.literal is None
    assert resolved.has_wildcards
    assert resolved.match("docs/a*/x/y.rst") == {}
    assert resolved.match("docs/ab/x/y.rst") is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a/{x}", False), ("a", False), ("*", True), ("a?", True), ("{**}", True), ("{a,b}", True)],
)
def test_has_wildcards(text, expected):
    assert pattern(text).has_wildcards is expected


def test_patterns_are_values():
    assert pattern("src/{path}.py") == pattern("src/{path}.py")
    assert hash(pattern("a")) == hash(pattern("a"))
    assert pattern("{name}").resolve({"name": "*"}) != pattern("*")
    assert pattern("{b}/{a}").variables == ("b", "a")


def test_pair_may_use_a_subset():
    """DW-A05, DW-032"""
    trigger = pattern("api/{module}/{name}.py")

    assert check_resolvable(pattern("docs/{name}.md"), trigger) == []
    (found,) = check_resolvable(pattern("docs/{nam}.md"), trigger)
    assert found.code == codes.UNRESOLVED_VARIABLE.name
    assert found.underlined == "{nam}"
    assert found.help == "did you mean `name`?"


def test_set_needs_the_same_variables():
    """DW-013"""
    texts = ["src/{path}.py", "tests/{name}.py", "docs/{path}.md"]
    text = "\n".join(texts)
    source = SourceFile("p.md", text)
    patterns = [parse_pattern(source, Span(at := text.index(t), at + len(t))) for t in texts]

    found = check_same_variables(patterns)
    assert [d.underlined for d in found] == ["{path}", "{name}", "{path}"]
    assert [source.position(d.span.start).line for d in found] == [1, 2, 3]
    assert found[1].headline == "`{name}` cannot be resolved: `src/{path}.py` does not capture it"
    assert check_same_variables(patterns[::2]) == []


# What a backtracking regular expression answers; slow in bad cases, plain to read.
NAME = r"(?:[^/.]|\.[^/.]|\.\.[^/])[^/]*"
ORACLE = {
    "*": "[^/]*",
    "?": "[^/]",
    "**/": "(?:[^/]+/)*",
    "**": "(?s:.+)",
    "{*}": f"(?:{NAME})",
    "{**}": f"(?:{NAME}(?:/{NAME})*)",
    "{a}": f"(?P<a>{NAME})",
    "{b}": f"(?P<b>{NAME})",
    "{path}": f"(?P<path>{NAME}(?:/{NAME})*)",
    "{a,ab}": "(?:a|ab)",
    "{b/a,.}": r"(?:b/a|\.)",
}
OUTSIDE_BRACES = re.compile(r"\{[^}]*\}|\*\*/|\*\*|.", re.DOTALL)


def oracle(text):
    return re.compile(
        "".join(ORACLE.get(p, re.escape(p)) for p in OUTSIDE_BRACES.findall(text)),
    )


patterns_as_text = st.lists(
    st.sampled_from([*ORACLE, "a", "b", ".", "-", "/", "/", "/"]), min_size=1, max_size=9
).map("".join)
small_paths = st.text("ab.-/", min_size=1, max_size=12)


@settings(deadline=None, max_examples=3000)
@given(patterns_as_text, st.lists(small_paths, min_size=1, max_size=10))
@example("{a}-{b}", ["a-b-a", "-a-b-", ".-.", "..-...-.."])
@example("{path}.", ["a..", "a/b...", "..", "...", "a/...", "a/...."])
@example("{a,ab}{path}a", ["a.a", "a..a", "abba", "ab/a", "aba/a"])
def test_agrees_with_a_backtracking_regex(text, paths):
    """DW-A08: one result, the one in which the leftmost wildcard takes most."""
    try:
        checked = pattern(text)
    except PatternError:
        return
    expected = oracle(text)
    for path in filter(is_normalised, paths):
        found = expected.fullmatch(path)
        wanted = found.groupdict() if found else None
        assert checked.match(path) == wanted
        assert match_by_parts(checked.tokens, path) == wanted


@settings(deadline=None, max_examples=1000)
@given(patterns_as_text, small_paths, st.sampled_from(["x/{}/y", "{}", ".{}", "{}.", "{}/{{a,b}}"]))
@example("{path}.a", "a/...a", ".{}")
@example("{a}.a", "...a", "{}.")
def test_results_stay_in_the_repository(text, path, around):
    """DW-034: what is captured and filled in elsewhere is again a normalised path."""
    try:
        captures = pattern(text).match(path) or {}
    except PatternError:
        return
    for name in captures:
        filled = pattern(around.format(f"{{{name}}}")).resolve(captures)
        assert is_normalised(filled.text)
        assert filled.match(filled.text.replace("{a,b}", "b")) == {}


EVIL = [
    "*a*a*a*a*a*a*a*b",
    "{x}a*a*a*a*a*a*a*b",
    "{a}a{b}a{c}a{d}a{e}a{f}a{g}a{h}b",
    "**/a/**/a/**/a/**/a/**/b",
    "**/{x}/**/a/**/{y}/**/a/**/b",
    "{**}a{**}a{**}a{**}a{path}b",
    "{path}a*b",
    "**/*a*a*a*a*a*b/x",
    "{a,aa}{a,aa}{a,aa}{a,aa}{a,aa}{a,aa}{a,aa}*b",
    "*{a,aa}/*{a,aa}/*{a,aa}/*{a,aa}/b",
    "{a/a,a}/{a/a,a}/{a/a,a}/{a/a,a}/{a/a,a}/{a/a,a}/**/b",
]
LONG = ["a" * MAX_PATH, "/".join("a" * (MAX_PATH // 2)), "/".join(["a" * 255] * 16), "." * MAX_PATH]


def test_no_pattern_is_catastrophic():
    """Backtracking would need years for some of these; the limit is far above what is needed."""
    found = watched([[text, 1, LONG] for text in EVIL])

    assert found == [["matches", 0]] * len(EVIL)


def test_common_forms_are_matched_by_one_regex():
    common = ["src/**/*.py", "**/tests/**/*_x_*.py", "src/{path}.{js,ts}", "{a}/{b}/*.{js,ts}"]
    assert all(linear_regex(pattern(text).tokens) for text in common)
