"""`bylaw match` as a process: one line a path, a refused pattern, paths from standard input."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest


def match(*words, given=b""):
    command = [sys.executable, "-m", "bylaw", "match", *words]
    done = subprocess.run(command, capture_output=True, input=given, timeout=300, check=False)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def test_one_line_a_path():
    """DW-019, DW-034: captures, and paths printed as given but matched normalised."""
    paths = ["src/foo/bar.py", "src/foo.txt", "lib/../src/./a.py", "src/../etc/x.py", "../src/a.py"]
    code, lines, errors = match("src/{path}.py", *paths)

    assert lines == [
        {"path": "src/foo/bar.py", "match": True, "captures": {"path": "foo/bar"}},
        {"path": "src/foo.txt", "match": False, "captures": {}},
        {"path": "lib/../src/./a.py", "match": True, "captures": {"path": "a"}},
        {"path": "src/../etc/x.py", "match": False, "captures": {}},
        {"path": "../src/a.py", "match": False, "captures": {}},
    ]
    assert (code, errors) == (0, b"")


def test_a_pattern_without_variables_captures_nothing():
    """DW-029"""
    expected = [{"path": "README.md", "match": True, "captures": {}}]

    assert match("README.md", "README.md", "--format", "json") == (0, expected, b"")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("src/{path.py", "src/{path.py: unbalanced brace: `{` is never closed"),
        ("", ": the pattern is empty"),
        ("/etc/\x1b[2J", None),
        ("{" * 100_000, None),
    ],
)
def test_a_refused_pattern(text, message):
    """DW-036, DW-040"""
    code, lines, errors = match(text, "src/a.py")

    assert code == 1
    (line,) = lines
    assert line["error"]["code"] == "pattern-error"
    assert message in {None, line["error"]["message"]}
    assert errors.startswith(b"error[")
    assert b"\x1b" not in errors
    assert len(errors) < 100_000


def test_paths_from_standard_input():
    code, lines, _ = match("*.{js,ts}", "-", given=b"\xef\xbb\xbfa.js\r\n\nb.ts\nc.jsx")

    assert [(line["path"], line["match"]) for line in lines] == [
        ("a.js", True),
        ("b.ts", True),
        ("c.jsx", False),
    ]
    assert code == 0


def test_names_that_are_not_utf8():
    code, lines, _ = match("src/{name}.py", b"src/\xff\n.py")

    assert lines == [{"path": "src/\udcff\n.py", "match": True, "captures": {"name": "\udcff\n"}}]
    assert code == 0


def test_a_path_is_needed():
    code, lines, errors = match("src/**")

    assert (code, lines) == (2, [])
    assert b"PATH" in errors
