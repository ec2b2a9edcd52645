"""`bylaw rules`: list, show, disable and enable rules of all languages."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from bylaw.cli.frame import HELP_OPTIONS, Verbs
from bylaw.cli.output import emit, in_color, screen_columns, text_or_json, write
from bylaw.cli.progress import progress
from bylaw.dialects import dialect_names
from bylaw.model.suggest import did_you_mean
from bylaw.tools.printers import rules as printer
from bylaw.tools.printers import text
from bylaw.tools.rules import list_rules, show_rule, switch_rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.model.diagnostic import Diagnostic

_rule = click.argument("name", metavar="ID")


@click.group(
    cls=Verbs,
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
def command() -> None:
    """List, show, disable and enable the rules of all languages.

    The rules are those of the root: the nearest parent folder with bylaw.toml, else the git
    work tree.
    """


@command.command("list", context_settings=HELP_OPTIONS)
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
    if dialect and dialect not in dialect_names():
        hint = did_you_mean(dialect, dialect_names())
        raise click.BadParameter(
            f"unknown rule language `{dialect}`; {hint}", param_hint="--dialect"
        )
    with progress() as tell:
        listing = list_rules(paths, dialect, off=off, tell=tell)
    _tell(listing.diagnostics)
    click.echo(printer.render_gone(listing), nl=False, err=True)
    if form == "json":
        emit(printer.listing_as_data(listing))
    else:
        write(printer.render_listing(listing, limit=screen_columns(), color=in_color(sys.stdout)))
    return int(listing.has_errors)


@command.command(context_settings=HELP_OPTIONS)
@_rule
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
    _tell(found.diagnostics)
    if form == "json":
        emit(printer.shown_as_data(found))
    else:
        write(printer.render_shown(found, color=in_color(sys.stdout)))
    return int(bool(found.diagnostics))


@command.command(context_settings=HELP_OPTIONS)
@_rule
@text_or_json
def enable(name: str, form: str) -> int:
    """Enable a rule again.

    A rule that is disabled in its own file can only be enabled there. Exit code 0 on success, 1
    if the rule is unknown or stays disabled.

    \b
    Examples:
      bylaw rules enable token-usage-warning
    """
    return _switch(name, form, on=True)


@command.command(context_settings=HELP_OPTIONS)
@_rule
@text_or_json
def disable(name: str, form: str) -> int:
    """Disable a rule until it is enabled again.

    Disabled rules are stored in .bylaw/state/switches.json in the root. A core rule cannot be
    disabled. Exit code 0 on success, 1 if the rule is unknown or stays enabled.

    \b
    Examples:
      bylaw rules disable token-usage-warning
    """
    return _switch(name, form, on=False)


def _switch(name: str, form: str, *, on: bool) -> int:
    with progress() as tell:
        switched = switch_rule(name, on=on, tell=tell)
    if form == "json":
        emit(printer.switched_as_data(switched))
    else:
        write(printer.render_switched(switched))
    return 0


def _tell(diagnostics: Sequence[Diagnostic]) -> None:
    click.echo(text.render(diagnostics, color=in_color(sys.stderr)), nl=False, err=True)
