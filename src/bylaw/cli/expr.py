"""`bylaw expr`: evaluate an expression on facts and print its value as a line of JSON."""

from __future__ import annotations

import re

import click

from bylaw.cli.frame import HELP_OPTIONS
from bylaw.cli.output import always_json, emit
from bylaw.cli.reading import read_source
from bylaw.tools.printers.text import render
from bylaw.tools.try_expression import DIALECTS, NO_FACTS, try_expression


class _MayBeginWithMinus(click.Command):
    """A command that reads `-3 < 2` as an expression, not as options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Move an expression that starts with a minus after `--`."""
        known = {name for parameter in self.get_params(ctx) for name in parameter.opts}
        negative = [word for word in args if _NEGATIVE.match(word) and word not in known]
        if negative and "--" not in args:
            args = [word for word in args if word not in negative] + ["--", *negative]
        return super().parse_args(ctx, args)


_NEGATIVE = re.compile(r"-(?!-[a-z]).", re.DOTALL)


@click.command(cls=_MayBeginWithMinus, context_settings=HELP_OPTIONS)
@click.argument("expression")
@click.option(
    "--dialect",
    type=click.Choice(DIALECTS),
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
def command(expression: str, dialect: str, facts: str | None) -> int:
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
    trial = try_expression(expression, dialect, source)
    if trial.diagnostics:
        click.echo(render(trial.diagnostics), nl=False, err=True)
    emit(trial.answer)
    return int(trial.failed)
