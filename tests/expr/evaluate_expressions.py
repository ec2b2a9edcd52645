"""Evaluate expressions or templates: `evaluate_expressions.py LANGUAGE FILE MEBIBYTES`.

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
from bylaw.expr.template import TemplateNames, load_template
from bylaw.model.errors import GuardError, LoadError, RenderError
from bylaw.model.source import SourceFile, Span
from bylaw.report.expression import condition_view

MESSAGES = 200


def context():
    """A context with many messages and tool calls."""
    messages = [{"role": "user", "content": f"message {n}"} for n in range(MESSAGES)]
    tools = [{"name": "t", "arguments": {"n": n}, "success": True} for n in range(MESSAGES)]
    history = {"messages": messages, "tools": tools}
    state = {"text": "x" * 50_000, "b": [1, [2, [3]]]}
    facts = json.dumps({"context": {"history": history, "state": state}})
    return condition_view(SourceFile("facts", facts))


def values():
    """What a template is given: small values and large ones."""
    state = {"list": [1, 2, 3], "many": [1] * 100_000, "get": "key"}
    return {"context": {"state": state, "result": "x" * 1_000_000, "user": {"id": "u1"}}}


def condition(source, span, view):
    load_condition(source, span).evaluate(view)


def guard(source, span, view):
    load_guard(source, span, guard_environment()).evaluate(view)


def template(source, span, view):
    load_template(source, span, TemplateNames({"context": None})).render(view)


def call():
    """A call whose arguments, which a model wrote, are as long as an event can be."""
    args = {"l": [2] * 300_000, "m": [2] * 300_000, "k": [[2] * 1_000] * 300, "t": "x" * 99_000}
    return GuardView(tool_args=args, last_user="ab" * 1_000_000)


LANGUAGES = {
    "conditions": (condition, context),
    "guards": (guard, call),
    "templates": (template, values),
}


def outcome(evaluate, text, view):
    """How it ends: a value, or the code of an error."""
    try:
        evaluate(SourceFile("x", text), Span(0, len(text)), view)
    except LoadError as refused:
        return refused.diagnostics[0].code
    except (GuardError, RenderError) as failed:
        return failed.code
    return "value"


def main():
    _, language, file, mebibytes = sys.argv
    limit = int(mebibytes) * 1024 * 1024
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    evaluate, make_view = LANGUAGES[language]
    view = make_view()
    for text in json.loads(Path(file).read_text(encoding="utf-8")):
        begin = time.process_time()
        ended = outcome(evaluate, text, view)
        sys.stdout.write(json.dumps([time.process_time() - begin, ended]) + "\n")
        sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
