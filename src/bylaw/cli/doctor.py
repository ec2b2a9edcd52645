"""`bylaw doctor`: a root → whether its set-up is in order; clients tried, gates opened."""

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

_HELP = "Open gates that a failure closed, for so long; 0 closes them."


@click.command(context_settings=HELP_OPTIONS)
@click.argument("host", type=click.Choice(list(CLIENTS)), metavar="[HOST]", required=False)
@click.option("--canary", is_flag=True, help="Try the real clients out, or HOST alone.")
@click.option("--release", type=click.IntRange(0, MAX_MINUTES), metavar="MINUTES", help=_HELP)
@root_option
@text_or_json
def command(host: str | None, *, canary: bool, release: int | None, root: str, form: str) -> int:
    """Look whether hooks and rules are set up well.

    Tells which coding agents are installed, where hooks of Bylaw are in their configuration and
    whether these are whole, what a client still waits for, such as trust, with the exact step;
    which rule files do not load, whether the journal can be written, whether gates are open, and
    what clients send that Bylaw does not know. Nothing is changed. Exits 0 if nothing is wrong,
    else 1.

    With --canary each client that is installed is started, in a folder and with a home that go
    away again, and talks to a model on this machine that wants a harmless command run, which a
    rule forbids. It shows whether the hook fired, whether the client obeyed, and whether the
    reason reached the model. It needs no account and no network. Exits 0 if all that were tried
    hold, else 1.

    With --release gates that are closed because Bylaw itself fails are opened for that many
    minutes, in all your repositories: then nothing is checked while it fails. What a rule
    forbids stays forbidden. Wants a terminal, refuses to be called by a coding agent, and is
    recorded in the journal.

    \b
    Examples:
      bylaw doctor
      bylaw doctor --format json
      bylaw doctor --canary
      bylaw doctor --canary codex
      bylaw doctor --release 10
    """
    if canary and release is not None:
        raise click.UsageError("`--canary` and `--release` are two things; call one of them")
    if host and not canary:
        raise click.UsageError(
            f"only `--canary` is about one client: `bylaw doctor --canary {host}`"
        )
    if canary and root:
        raise click.UsageError(
            "a canary works in a repository of its own, so `--root` says nothing"
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
        refuse_others("opening gates")
    done = release(root, minutes)
    if form == "json":
        emit({"until": done.until or None, "unrecorded": done.unrecorded or None})
        return 0
    if done.unrecorded and sys.stderr is not None:
        sys.stderr.write(f"warning: this is not on record: {done.unrecorded}\n")
    if minutes:
        until = local_minute(done.until * 1_000)
        write(f"until {until} a failure of Bylaw closes no gate; --release 0 ends that\n")
    else:
        write("a failure of Bylaw closes gates\n")
    return 0
