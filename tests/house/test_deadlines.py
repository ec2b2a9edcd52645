"""No property test has a deadline: a busy machine must not fail a test."""

import ast

from hypothesis import settings
from source_code import ROOT, parse


def test_the_profile_has_none():
    assert settings().deadline is None


def test_no_test_sets_one():
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        if "deadline" in path.read_text(encoding="utf-8")
        for node in ast.walk(parse(path))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "settings"
        for keyword in node.keywords
        if keyword.arg == "deadline" and ast.unparse(keyword.value) != "None"
    ]

    assert not found
