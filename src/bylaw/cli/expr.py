"""`bylaw expr` and `bylaw match`: try an expression on facts, or a path pattern on paths.

Both print lines of JSON.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from bylaw.cli.frame import HELP_OPTIONS
from bylaw.cli.terminal import STANDARD_INPUT, always_json, emit, read_source
from bylaw.model.diagnostic_text import render
from bylaw.model.display import clip_text
from bylaw.model.errors import PatternError
from bylaw.model.source import BOM
from bylaw.paths import Pattern, normalise, pattern
from bylaw.report.expression import EXPRESSION_LANGUAGES, NO_FACTS, evaluate_expression

if TYPE_CHECKING:
    from collections.abc import Sequence


class _ExpressionCommand(click.Command):
    """A command that reads `-3 < 2` as an expression, not as options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Move an expression that starts with a minus after `--`."""
        known = {name for parameter in self.get_params(ctx) for name in parameter.opts}
        negative = [word for word in args if _NEGATIVE.match(word) and word not in known]
        if negative and "--" not in args:
            args = [word for word in args if word not in negative] + ["--", *negative]
        return super().parse_args(ctx, args)


_NEGATIVE = re.compile(r"-(?!-[a-z]).", re.DOTALL)


@click.command(cls=_ExpressionCommand, context_settings=HELP_OPTIONS)
@click.argument("expression")
@click.option(
    "--dialect",
    type=click.Choice(EXPRESSION_LANGUAGES),
    default="chatmd",
    show_default=True,
    help="chatmd: conditions of <on if=…>; toml: conditions of [condition] expression.",
)
@click.option(
    "--facts",
    type=click.Path(),
    metavar="FILE",
    help="JSON file with the facts that the expression reads; - for standard input.",
)
@always_json
def expr_command(expression: str, dialect: str, facts: str | None) -> int:
    """Evaluate EXPRESSION on facts and print its value.

    Prints {"value": …} with exit code 0, or {"error": {"code", "message"}} with exit code 1. A
    code that starts with load- means that the expression does not load. A code that starts
    with guard- means that it loads, but has no value for these facts.

    \b
    Examples:
      bylaw expr "1 + 2 == 3"
      echo '{"turn_index": 10}' | bylaw expr "turn_index % 5 == 0" --facts -
      echo '{"calls": {"search": [3, 4]}}' |
        bylaw expr "count_calls('search')" --facts -
      echo '{"context": {"turn": {"token_usage": 0.85}}}' |
        bylaw expr "context.turn.token_usage > 0.8" --dialect toml --facts -

    \b
    Facts of chatmd, all optional:
      turn_index, context_tokens, history_length, last_role, now,
      event: {name, tool: {name, args, status}}, calls: {tool: [turns]},
      last: {user, assistant, tool}, vars: {name: value}, fired_at: {rule: ms}
    Facts of toml, all optional:
      context: {turn, history, user, project, state, event, result}
    """
    source = NO_FACTS if facts is None else read_source(facts)
    trial = evaluate_expression(expression, dialect, source)
    if trial.diagnostics:
        click.echo(render(trial.diagnostics), nl=False, err=True)
    emit(trial.answer)
    return int(trial.failed)


MAX_PATTERN_SHOWN = 200  # characters of a pattern in an error message


@click.command(context_settings=HELP_OPTIONS)
@click.argument("text", metavar="PATTERN")
@click.argument("paths", type=click.Path(), metavar="PATH…", nargs=-1, required=True)
@always_json
def match_command(text: str, paths: tuple[str, ...]) -> int:
    """Match PATTERN against each PATH and print what it captures.

    Prints {"path", "match", "captures"} for each path, with exit code 0. An invalid pattern
    gives {"error": {"code": "pattern-error", "message"}} with exit code 1. Paths are relative
    to the top of the repository; `src/../a.py` is `a.py`. A single - reads paths from standard
    input, one per line. Quote the pattern, so that the shell does not expand it.

    \b
    Examples:
      bylaw match "src/**/*.py" src/app/main.py
      bylaw match "src/{path}.py" src/app/main.py      captures path: app/main
      bylaw match "{module}/{name}.{js,ts}" web/index.ts
      git ls-files | bylaw match "tests/{path}_test.py" -

    \b
    Patterns:
      *       any characters of a name     {name}   captures some of them
      ?       one character of a name      {path}   captures across folders
      **/     any number of folders        {*} {**} the same, capturing nothing
      **      at the end: all below        {js,ts}  one of these texts
    """
    try:
        checked = pattern(text)
    except PatternError as refused:
        click.echo(render(refused.diagnostics), nl=False, err=True)
        message = f"{clip_text(text, MAX_PATTERN_SHOWN)}: {refused}"
        emit({"error": {"code": "pattern-error", "message": message}})
        return 1
    for path in _input_paths(paths):
        emit(_answer(checked, path))
    return 0


def _input_paths(paths: Sequence[str]) -> Sequence[str]:
    if list(paths) != [STANDARD_INPUT]:
        return paths
    lines = read_source(STANDARD_INPUT).text.removeprefix(BOM).split("\n")
    return [path for path in (line.removesuffix("\r") for line in lines) if path]


def _answer(checked: Pattern, path: str) -> dict[str, object]:
    normal = normalise(path)
    captures = None if normal is None else checked.match(normal)
    return {"path": path, "match": captures is not None, "captures": captures or {}}
