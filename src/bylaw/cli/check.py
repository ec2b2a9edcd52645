"""`bylaw check`: rule files, given or found → books and diagnostics."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from bylaw.cli.frame import HELP_OPTIONS
from bylaw.cli.output import emit, in_color, screen_columns, write
from bylaw.cli.progress import progress
from bylaw.model.suggest import did_you_mean
from bylaw.runtime.effects import TITLES
from bylaw.tools.check import check
from bylaw.tools.printers import check as printer
from bylaw.tools.printers import github, sarif

if TYPE_CHECKING:
    from bylaw.tools.check import Report


report_format = click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "github", "sarif"]),
    default="text",
    show_default=True,
    help="github: annotations of a workflow; sarif: a log for code scanners.",
)


def _known_host(context: click.Context, option: click.Parameter, host: str) -> str:
    if host and host not in TITLES:
        hint = did_you_mean(host, TITLES)
        raise click.BadParameter(f"`{host}` is not a host; {hint}", context, option)
    return host


@click.command(context_settings=HELP_OPTIONS)
@click.argument("paths", type=click.Path(), metavar="[PATH…]", nargs=-1)
@click.option(
    "--host",
    metavar="NAME",
    default="",
    callback=_known_host,
    help="Also say what this host cannot do with the rules.",
)
@report_format
def command(paths: tuple[str, ...], host: str, form: str) -> int:
    """Load rule files and say what is wrong with them.

    A PATH is a rule file, or a folder whose rule files are meant. Without one, the books of
    bylaw.toml and those that the convention finds are loaded. Nothing is started. Exits 1 if
    a file was refused, else 0.

    A host is where rules are in force: claude, codex, gemini, qwen, copilot, droid, opencode,
    cursor, or chat, bus, worktree, python. What it does not tell of, cannot carry out or cannot
    hold up is a warning at each rule that would need it.

    \b
    Examples:
      bylaw check
      bylaw check rules prompts/main.chatmd
      bylaw check --host codex
      bylaw check --format json
    """
    with progress() as tell:
        report = check(paths, tell, host)
    return print_report(report, form)


def print_report(report: Report, form: str) -> int:
    """Print a report in one of its formats; the result is the exit code."""
    _PRINTERS[form](report)
    return int(report.has_errors)


def _print_text(report: Report) -> None:
    write(printer.render(report, limit=screen_columns(), color=in_color(sys.stdout)))


def _print_json(report: Report) -> None:
    emit(printer.as_data(report))


def _print_github(report: Report) -> None:
    write(github.render(report.diagnostics))


def _print_sarif(report: Report) -> None:
    write(sarif.render(report.diagnostics))


_PRINTERS = {
    "text": _print_text,
    "json": _print_json,
    "github": _print_github,
    "sarif": _print_sarif,
}
