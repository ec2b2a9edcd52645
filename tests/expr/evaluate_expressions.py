"""Evaluate expressions one after the other: `evaluate_expressions.py LANGUAGE FILE MEBIBYTES`.

The file is a JSON list of them. For each a line of JSON is printed: how long it took and how it
ended. Then it waits for its input to be closed, so that its memory can be looked at from outside.
"""

import json
import resource
import sys
import time
from pathlib import Path

from bylaw.expr.expression import load_condition, load_guard
from bylaw.expr.guard_environment import GuardView, guard_environment
from bylaw.model.errors import GuardError, LoadError
from bylaw.model.source import SourceFile, Span
from bylaw.tools.expression_facts import condition_view

MESSAGES = 200


def context():
    """A context with many messages and tool calls."""
    messages = [{"role": "user", "content": f"message {n}"} for n in range(MESSAGES)]
    tools = [{"name": "t", "arguments": {"n": n}, "success": True} for n in range(MESSAGES)]
    history = {"messages": messages, "tools": tools}
    state = {"text": "x" * 50_000, "b": [1, [2, [3]]]}
    facts = json.dumps({"context": {"history": history, "state": state}})
    return condition_view(SourceFile("facts", facts))


def a_guard(source, span):
    return load_guard(source, span, guard_environment())


LANGUAGES = {"conditions": (load_condition, context), "guards": (a_guard, GuardView)}


def outcome(load, text, view):
    """How it ends: a value, or the code of an error."""
    try:
        load(SourceFile("x", text), Span(0, len(text))).evaluate(view)
    except LoadError as refused:
        return refused.diagnostics[0].code
    except GuardError as failed:
        return failed.code
    return "value"


def main():
    _, language, file, mebibytes = sys.argv
    limit = int(mebibytes) * 1024 * 1024
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    load, make_view = LANGUAGES[language]
    view = make_view()
    for text in json.loads(Path(file).read_text(encoding="utf-8")):
        begin = time.process_time()
        ended = outcome(load, text, view)
        sys.stdout.write(json.dumps([time.process_time() - begin, ended]) + "\n")
        sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
