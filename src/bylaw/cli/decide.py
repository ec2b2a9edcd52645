"""`bylaw decide`: decide events under rule files; one line of JSON for each event."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from bylaw.cli.errors import MISTAKE
from bylaw.cli.frame import HELP_OPTIONS
from bylaw.cli.terminal import STANDARD_INPUT, always_json, emit, open_input, progress
from bylaw.engine.index import RuleSet
from bylaw.model.decision import NeedName
from bylaw.model.diagnostic import has_errors
from bylaw.model.diagnostic_text import render
from bylaw.model.errors import LoadError
from bylaw.report.decide import EventDecider
from bylaw.runtime.loader import load_paths
from bylaw.runtime.scripts import ScriptRunner
from bylaw.store.files import unreadable_error

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bylaw.model.values import JSON

RULES = "--rules"


class _RulesCommand(click.Command):
    """A command whose `--rules` takes all words up to the next option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert `--rules` before each of its words, because click takes one word per option."""
        return super().parse_args(ctx, _repeat_rules_option(args))


def _repeat_rules_option(words: Sequence[str]) -> list[str]:
    spread: list[str] = []
    in_rules = False
    for word in words:
        if word.startswith("-") and word != STANDARD_INPUT:
            if spread[-1:] == [RULES]:
                raise click.BadOptionUsage(RULES, f"Option '{RULES}' requires an argument.")
            in_rules = word.partition("=")[0] == RULES
            spread.append(word)
        elif in_rules and spread[-1] != RULES:
            spread += [RULES, word]
        else:
            spread.append(word)
    return spread


@click.command(
    cls=_RulesCommand,
    context_settings=HELP_OPTIONS,
    options_metavar="--rules PATH… [--events FILE] [--state]",
)
@click.option(
    RULES,
    "paths",
    metavar="PATH…",
    type=click.Path(),
    multiple=True,
    required=True,
    help="Rule files, or folders of rule files; may be repeated.",
)
@click.option(
    "--events",
    metavar="FILE",
    type=click.Path(),
    default=STANDARD_INPUT,
    help="Events, one JSON object per line. Default: standard input.",
)
@click.option("--state", is_flag=True, help="Add the state of the session to each line.")
@always_json
def decide_command(paths: tuple[str, ...], events: str, state: bool) -> int:
    """Decide events under rules, without performing anything.

    Loads only the given rules. Prints one line for each event: {"seq", "kind", "session",
    "verdict", "reasons", "effects", "trace", "caused"}, and with --state also "state". A line
    that is not an event gives {"error": {"code", "message", "line"}}. Exit code 0 on success,
    1 if a line is not an event or a rule file does not load. Verdicts do not change it.

    \b
    Examples:
      echo '{"kind": "tool.before", "tool": "shell"}' | bylaw decide --rules rules
      bylaw decide --rules a.toml b.toml --rules c.chatmd --events events.jsonl
      bylaw decide --rules rules --events events.jsonl --state | tail -n 1

    Events may omit session ("default"), seq (1, 2, 3 …) and at (one more than before). Events
    that an event causes are decided at once and are in its "caused". A call that a rule makes
    is decided but not run: it is pending until a tool.after with its call arrives. Scripts run.
    Any other fact that a rule needs is unknown unless the event has it in "facts".
    """
    with progress() as tell:
        library = load_paths(paths, tell)
    if library.diagnostics:
        click.echo(render(library.diagnostics), nl=False, err=True)
    if library.refusals:
        return MISTAKE
    failed = has_errors(library.diagnostics)
    with ScriptRunner() as scripts:
        gatherers = {NeedName.SCRIPTS: scripts.gather}
        rules = RuleSet(library.in_force())
        decider = EventDecider(rules, with_state=state, gatherers=gatherers)
        for line in _answers(decider, events):
            failed |= "error" in line
            emit(line)
            # The sender may wait for the answer before it sends the next event.
            sys.stdout.flush()
    return MISTAKE if failed else 0


def _answers(decider: EventDecider, events: str) -> Iterator[dict[str, JSON]]:
    try:
        with open_input(events) as stream:
            yield from decider.decide_stream(stream)
    except OSError as wrong:
        what = "standard input" if events == STANDARD_INPUT else ""
        raise LoadError([unreadable_error(events, wrong, what)]) from None
