"""A rich set of facts for both expression languages, as `bylaw expr --facts` reads them."""

import json

from bylaw.model.source import SourceFile
from bylaw.report.expression import condition_view, guard_view

GUARD_FACTS = {
    "turn_index": 7,
    "context_tokens": 12_345,
    "history_length": 40,
    "last_role": "assistant",
    "event": {
        "name": "pre_tool_call",
        "tool": {
            "name": "search",
            "args": {"q": "a b", "n": 3, "deep": {"list": [1, {"x": None}], "é": "ü"}, "": True},
            "status": "ok",
        },
    },
    "calls": {"search": [1, 2, 7], "shell": [3]},
    "last": {"user": "please look", "assistant": "done 😀", "tool": "x" * 500},
    "vars": {"a": 1, "b": "text", "c": [1, 2.5, None], "d": {"k": [True]}, "big": 2**60},
    "now": 1_700_000_000_000,
    "fired_at": {"rule-1": 1_699_999_999_000},
}


def _tool(number):
    return {
        "name": ("shell", "search")[number % 2],
        "arguments": {"path": f"src/{number}.py", "n": number},
        "result": [number, {"ok": True, "lines": ["a", "b"]}],
        "success": number % 3 > 0,
        "timestamp": f"2026-01-01T00:00:{number % 60:02}Z",
    }


def condition_facts(size):
    """A context with this many messages and tool calls."""
    messages = [
        {"role": ("user", "assistant")[n % 2], "content": f"message {n} {'é' * (n % 7)}"}
        for n in range(size)
    ]
    return {
        "context": {
            "turn": {"number": 7, "token_usage": 0.85, "iteration_count": 3},
            "history": {
                "messages": messages,
                "tools": [_tool(number) for number in range(size)],
                "failures": {"shell": 2},
                "total_tool_calls": size,
                "total_failures": 2,
            },
            "user": {"id": "u", "settings": {"theme": "dark", "limits": [1, 2, 3]}},
            "project": {"id": None, "settings": {}},
            "state": {"a": 1, "b": [1, [2, [3]]], "text": "x" * 1_000, "none": None, "f": 1.5},
            "event": {"type": "tool", "payload": {"k": {"k": {"k": [0]}}}},
            "result": {"tool_name": "shell", "success": False, "error": "no", "duration_ms": 12},
        }
    }


def facts_source(facts):
    """Facts as the text of a file."""
    return SourceFile("facts.json", json.dumps(facts))


def rich_guard_view():
    """A view with something behind every name of the guard language."""
    return guard_view(facts_source(GUARD_FACTS))


def rich_condition_view(size=5):
    """A view with something behind every name of the condition language."""
    return condition_view(facts_source(condition_facts(size)))
