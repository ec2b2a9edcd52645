"""`bylaw trust`: review the commands that rules of a root can run, and store the trust."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from bylaw.cli.frame import HELP_OPTIONS
from bylaw.cli.terminal import confirm, emit, progress, uses_color, write
from bylaw.model import diagnostic_text
from bylaw.report.printers import rules as printer
from bylaw.report.rules import check_grant, grant, read_trust, revoke

if TYPE_CHECKING:
    from bylaw.report.rules import TrustReport


@click.command(context_settings=HELP_OPTIONS)
@click.option("--revoke", "take_back", is_flag=True, help="Revoke all trust in this folder.")
@click.option("--yes", is_flag=True, help="Skip the confirmation.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="json: machine-readable; never prompts.",
)
def trust_command(*, take_back: bool, yes: bool, form: str) -> int:
    """Review the commands that the rules of this folder can run, and trust them.

    Until you trust them here, the rules of a repository run no commands and its settings loosen
    no protection. Trust is stored in your state folder ($XDG_STATE_HOME or ~/.local/state),
    never in the repository. If one of these rules or settings changes, it is no longer trusted,
    and the next call shows what changed.

    Needs a terminal or --yes, and refuses calls by a coding agent. A script of the repository
    that a policy runs is trusted in its present version. Other files that commands run, such as
    a Makefile, are not checked. Exit code 0 if everything is trusted or needs no trust, else 1.

    \b
    Examples:
      bylaw trust
      bylaw trust --format json
      bylaw trust --revoke
    """
    if take_back:
        if yes:
            raise click.UsageError("cannot combine `--revoke` and `--yes`")
        return _revoke_trust(form)
    with progress() as tell:
        report = read_trust(tell)
    _print_diagnostics(report)
    return _as_json(report, yes=yes) if form == "json" else _as_text(report, yes=yes)


def _revoke_trust(form: str) -> int:
    changed = revoke()
    if form == "json":
        emit({"trusted": False, "changed": changed})
    else:
        write("trust revoked\n" if changed else "nothing here was trusted\n")
    return 0


def _print_diagnostics(report: TrustReport) -> None:
    """Report files that do not load: they run nothing, and their commands are not shown."""
    if report.diagnostics and sys.stderr is not None:
        sys.stderr.write(
            diagnostic_text.render(report.diagnostics, color=uses_color(sys.stderr)) + "\n"
        )


def _as_json(report: TrustReport, *, yes: bool) -> int:
    if yes and not report.trust.is_sufficient:
        report = grant(report)
    emit(printer.trust_data(report))
    return int(not report.trust.is_sufficient)


def _as_text(report: TrustReport, *, yes: bool) -> int:
    shown = printer.render_trust(report)
    write(f"{shown}\n" if shown else "")
    if report.trust.is_sufficient:
        write(f"{report.trust.state}: {report.trust.why}\n")
        return 0
    check_grant(report)
    if not yes and not confirm(printer.trust_question(report)):
        write(f"not trusted: {report.trust.why}\n")
        return 1
    write(f"{grant(report).trust.state}\n")
    return 0
