"""`bylaw rules`: list, show, disable and enable rules of all languages."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from bylaw.cli.frame import HELP_OPTIONS, CommandGroup
from bylaw.cli.terminal import emit, progress, screen_columns, text_or_json, uses_color, write
from bylaw.languages import language_names
from bylaw.model import diagnostic_text
from bylaw.model.suggest import did_you_mean
from bylaw.report.printers import rules as printer
from bylaw.report.rules import list_rules, show_rule, switch_rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.model.diagnostic import Diagnostic

_rule_argument = click.argument("name", metavar="ID")


@click.group(
    cls=CommandGroup,
    name="rules",
    context_settings=HELP_OPTIONS,
    subcommand_metavar="COMMAND …",
    options_metavar="",
    epilog="""\b
    Examples:
      bylaw rules list
      bylaw rules show token-usage-warning
      bylaw rules disable token-usage-warning
    """,
)
def rules_command() -> None:
    """List, show, disable and enable the rules of all languages.

    The rules are those of the root: the nearest parent folder with bylaw.toml, else the git
    work tree.
    """


@rules_command.command("list", context_settings=HELP_OPTIONS)
@click.argument("paths", type=click.Path(), metavar="[PATH…]", nargs=-1)
@click.option("--dialect", metavar="NAME", default="", help="Show only rules in this language.")
@click.option(
    "--off", is_flag=True, help="Show only rules disabled in their file or by `bylaw rules`."
)
@text_or_json
def list_(paths: tuple[str, ...], dialect: str, off: bool, form: str) -> int:
    """List rules, their places and whether they are enabled.

    PATH is a rule file or a folder of rule files. Without PATH, the rules of the root are
    listed. A file that does not load is listed as such. Exit code 0 on success, 1 if a file was
    refused.

    \b
    Examples:
      bylaw rules list
      bylaw rules list rules --off
      bylaw rules list --dialect toml --format json
    """
    if dialect and dialect not in language_names():
        hint = did_you_mean(dialect, language_names())
        raise click.BadParameter(
            f"unknown rule language `{dialect}`; {hint}", param_hint="--dialect"
        )
    with progress() as tell:
        listing = list_rules(paths, dialect, off=off, tell=tell)
    _print_diagnostics(listing.diagnostics)
    click.echo(printer.render_unknown_disabled(listing), nl=False, err=True)
    if form == "json":
        emit(printer.rule_list_data(listing))
    else:
        write(
            printer.render_rule_list(listing, limit=screen_columns(), color=uses_color(sys.stdout))
        )
    return int(listing.has_errors)


@rules_command.command(context_settings=HELP_OPTIONS)
@_rule_argument
@text_or_json
def show(name: str, form: str) -> int:
    """Show a rule with its text.

    ID is the id of a rule, or its uid if several rules have that id. Exit code 0 on success, 1
    if the rule is unknown or the file of disabled rules cannot be read.

    \b
    Examples:
      bylaw rules show token-usage-warning
      bylaw rules show toml:rules/token-usage-warning.toml#token-usage-warning
    """
    with progress() as tell:
        found = show_rule(name, tell)
    _print_diagnostics(found.diagnostics)
    if form == "json":
        emit(printer.shown_rule_data(found))
    else:
        write(printer.render_rule(found, color=uses_color(sys.stdout)))
    return int(bool(found.diagnostics))


@rules_command.command(context_settings=HELP_OPTIONS)
@_rule_argument
@text_or_json
def enable(name: str, form: str) -> int:
    """Enable a rule again.

    A rule that is disabled in its own file can only be enabled there. Exit code 0 on success, 1
    if the rule is unknown or stays disabled.

    \b
    Examples:
      bylaw rules enable token-usage-warning
    """
    return _set_enabled(name, form, on=True)


@rules_command.command(context_settings=HELP_OPTIONS)
@_rule_argument
@text_or_json
def disable(name: str, form: str) -> int:
    """Disable a rule until it is enabled again.

    Disabled rules are stored in .bylaw/state/switches.json in the root. A core rule cannot be
    disabled. Exit code 0 on success, 1 if the rule is unknown or stays enabled.

    \b
    Examples:
      bylaw rules disable token-usage-warning
    """
    return _set_enabled(name, form, on=False)


def _set_enabled(name: str, form: str, *, on: bool) -> int:
    with progress() as tell:
        switched = switch_rule(name, on=on, tell=tell)
    if form == "json":
        emit(printer.switch_result_data(switched))
    else:
        write(printer.render_switch_result(switched))
    return 0


def _print_diagnostics(diagnostics: Sequence[Diagnostic]) -> None:
    click.echo(
        diagnostic_text.render(diagnostics, color=uses_color(sys.stderr)), nl=False, err=True
    )
