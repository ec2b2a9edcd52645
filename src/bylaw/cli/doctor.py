"""`bylaw doctor`: check the setup of a root, test clients, release failed gates."""

from __future__ import annotations

import sys

import click

from bylaw.cli.asking import refuse_others
from bylaw.cli.doctor_screen import examination_as_data, render_examination, render_trials
from bylaw.cli.doctor_screen import trial_as_data as as_data
from bylaw.cli.failure import MISTAKE
from bylaw.cli.frame import HELP_OPTIONS
from bylaw.cli.output import emit, in_color, screen_columns, text_or_json, write
from bylaw.cli.progress import progress
from bylaw.cli.root_option import chosen_root, root_option
from bylaw.hosts.hooks.install.clients import CLIENTS
from bylaw.hosts.hooks.open_gates import MAX_MINUTES
from bylaw.tools.printers.moments import local_minute

_HELP = "Release failed gates for this many minutes; 0 ends the release."


@click.command(context_settings=HELP_OPTIONS)
@click.argument("host", type=click.Choice(list(CLIENTS)), metavar="[HOST]", required=False)
@click.option(
    "--canary",
    is_flag=True,
    help="Test the installed clients, or only HOST, with a harmless command.",
)
@click.option("--release", type=click.IntRange(0, MAX_MINUTES), metavar="MINUTES", help=_HELP)
@root_option
@text_or_json
def command(host: str | None, *, canary: bool, release: int | None, root: str, form: str) -> int:
    """Check that hooks and rules are set up correctly.

    Reports the installed coding agents, whether their configuration has complete Bylaw hooks,
    and each step that a client still needs, such as trust. Also reports rule files that do not
    load, a journal that cannot be written, released gates, and fields of clients that Bylaw
    does not know. Nothing is changed. Exit code 0 on success, 1 if there are problems.

    With --canary, Bylaw starts each installed client in a temporary folder with a temporary
    home. A fake model on this machine asks for a harmless command, which a rule denies. The
    table shows whether the hook fired, whether the client obeyed, and whether the reason
    reached the model. Needs no account and no network. Exit code 0 if all tested clients pass,
    else 1.

    With --release, gates that deny because Bylaw itself fails are released for MINUTES in all
    your repositories: nothing is checked while Bylaw fails. Rules still deny. Needs a terminal,
    refuses calls by a coding agent, and is recorded in the journal.

    \b
    Examples:
      bylaw doctor
      bylaw doctor --format json
      bylaw doctor --canary
      bylaw doctor --canary codex
      bylaw doctor --release 10
    """
    if canary and release is not None:
        raise click.UsageError("cannot combine `--canary` and `--release`")
    if host and not canary:
        raise click.UsageError(f"HOST needs `--canary`: `bylaw doctor --canary {host}`")
    if canary and root:
        raise click.UsageError(
            "cannot combine `--canary` and `--root`: a canary uses its own repository"
        )
    if release is not None:
        return _release(chosen_root(root), release, form)
    return _canary(host, form) if canary else _examine(chosen_root(root), form)


def _examine(root: str, form: str) -> int:
    from bylaw.hosts.hooks.doctor.examining import examine  # noqa: PLC0415 - only for this

    with progress() as tell:
        found = examine(root, tell)
    if form == "json":
        emit(examination_as_data(found))
    else:
        limit = screen_columns()
        write(render_examination(found, limit=limit, color=in_color(sys.stdout)))
    return 0 if found.is_fine else MISTAKE


def _canary(host: str | None, form: str) -> int:
    from bylaw.hosts.hooks.canary.trials import try_clients  # noqa: PLC0415 - only for this

    with progress() as tell:
        trials = try_clients([host] if host else list(CLIENTS), tell)
    if form == "json":
        emit({"trials": [as_data(one) for one in trials]})
    else:
        write(render_trials(trials, limit=screen_columns(), color=in_color(sys.stdout)))
    tried = [one.trial for one in trials if one.trial is not None]
    return 0 if tried and all(trial.holds for trial in tried) else MISTAKE


def _release(root: str, minutes: int, form: str) -> int:
    from bylaw.hosts.hooks.doctor.opening_gates import release  # noqa: PLC0415 - only for this

    if minutes:
        refuse_others("releasing gates")
    done = release(root, minutes)
    if form == "json":
        emit({"until": done.until or None, "unrecorded": done.unrecorded or None})
        return 0
    if done.unrecorded and sys.stderr is not None:
        sys.stderr.write(f"warning: not recorded in the journal: {done.unrecorded}\n")
    if minutes:
        until = local_minute(done.until * 1_000)
        write(f"failed gates are released until {until}; --release 0 ends the release\n")
    else:
        write("gates are not released: if Bylaw fails, they deny\n")
    return 0
