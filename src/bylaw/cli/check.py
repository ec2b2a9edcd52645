"""`bylaw check`: load rule files and report errors."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from bylaw.cli.frame import HELP_OPTIONS
from bylaw.cli.terminal import emit, progress, screen_columns, uses_color, write
from bylaw.model.suggest import did_you_mean
from bylaw.report.check import check
from bylaw.report.printers import formats
from bylaw.report.printers import rules as printer
from bylaw.runtime.effects import TITLES

if TYPE_CHECKING:
    from bylaw.report.check import CheckReport

report_format = click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "github", "sarif"]),
    default="text",
    show_default=True,
    help="github: workflow annotations; sarif: a log for code scanners.",
)


def _check_host(context: click.Context, option: click.Parameter, host: str) -> str:
    if host and host not in TITLES:
        hint = did_you_mean(host, TITLES)
        raise click.BadParameter(f"unknown host `{host}`; {hint}", context, option)
    return host


@click.command(context_settings=HELP_OPTIONS)
@click.argument("paths", type=click.Path(), metavar="[PATH…]", nargs=-1)
@click.option(
    "--host",
    metavar="NAME",
    default="",
    callback=_check_host,
    help="Also report what this host does not support.",
)
@report_format
def check_command(paths: tuple[str, ...], host: str, form: str) -> int:
    """Load rule files and report errors.

    PATH is a rule file or a folder of rule files. Without PATH, Bylaw checks the rule files of
    bylaw.toml and those that it finds by itself. Nothing runs. Exit code 0 on success, 1 if a
    file was refused.

    With --host, a rule gets a warning if it needs an event, an action or a block that the host
    does not support. Hosts: claude, codex, gemini, qwen, copilot, droid, opencode, cursor, and
    chat, bus, worktree, python.

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


def print_report(report: CheckReport, form: str) -> int:
    """Print a report in one of its formats. Return the exit code."""
    _PRINTERS[form](report)
    return int(report.has_errors)


def _print_text(report: CheckReport) -> None:
    write(printer.render_check(report, limit=screen_columns(), color=uses_color(sys.stdout)))


def _print_json(report: CheckReport) -> None:
    emit(printer.check_data(report))


def _print_github(report: CheckReport) -> None:
    write(formats.render_github(report.diagnostics))


def _print_sarif(report: CheckReport) -> None:
    write(formats.render_sarif(report.diagnostics))


_PRINTERS = {
    "text": _print_text,
    "json": _print_json,
    "github": _print_github,
    "sarif": _print_sarif,
}
