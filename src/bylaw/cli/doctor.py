"""`bylaw doctor`: check the setup of a root, test clients, release failed gates."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from bylaw.cli.errors import MISTAKE
from bylaw.cli.frame import HELP_OPTIONS
from bylaw.cli.terminal import (
    emit,
    progress,
    require_terminal,
    resolve_root,
    root_option,
    screen_columns,
    text_or_json,
    uses_color,
    write,
)
from bylaw.hosts.hooks.failure_state import MAX_RELEASE_MINUTES
from bylaw.hosts.hooks.install.forms import CLIENTS
from bylaw.model.display import visible, visible_once, width, wrap
from bylaw.model.paint import Paint, Style
from bylaw.report.doctor_clients import FindingLevel
from bylaw.report.printers.layout import MIN_WIDTH, align, local_minute
from bylaw.runtime.effects import ABILITIES, TITLES
from bylaw.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bylaw.hosts.hooks.canary import TrialResult
    from bylaw.report.doctor import Examination
    from bylaw.report.doctor_clients import DoctorFinding

_STYLES = {
    FindingLevel.FINE: Style.GOOD,
    FindingLevel.NOTE: Style.WARNING,
    FindingLevel.WRONG: Style.BAD,
}
_MARK = max(len(one.value) for one in FindingLevel)
_TAIL_LINES = 8
_MAX_LINES = 100  # of one finding
_HEAD = ("client", "version", "hook fired", "obeyed", "reason reached the model")


def render_examination(found: Examination, *, limit: int, color: bool) -> str:
    """Render each finding with its step below it, and a summary. Long lines are wrapped."""
    lines = [f"bylaw {__version__} in {visible(found.root)}", *_findings(found, limit, color=color)]
    absent = [TITLES[host] for host in ABILITIES if host not in found.programs]
    if absent:
        lines += ["", *wrap(f"not installed: {', '.join(absent)}", limit, _MAX_LINES)]
    return _join_lines([*lines, "", *wrap(_summary(found), limit, _MAX_LINES)])


def _findings(found: Examination, limit: int, *, color: bool) -> Iterator[str]:
    paint = Paint(color)
    titles = [_title(one, found) for one in found.findings]
    column = max(map(width, titles), default=0)
    for one, title in zip(found.findings, titles, strict=True):
        mark = one.level.value.ljust(_MARK)
        head = f"  {mark}  {title}{' ' * (column - width(title))}  "
        first, *rest = _lines_after(head, visible_once(one.text), limit)
        yield first.replace(mark, paint(_STYLES[one.level], mark), 1)
        yield from rest
        if one.step:
            yield from _lines_after(f"  {' ' * _MARK}    → ", visible_once(one.step), limit)


def _lines_after(head: str, text: str, limit: int) -> Iterator[str]:
    """Yield a text after its head. What does not fit continues below, indented."""
    first, *rest = wrap(text, max(limit - width(head), MIN_WIDTH), _MAX_LINES)
    yield f"{head}{first}".rstrip()
    yield from (" " * width(head) + line for line in rest)


def _join_lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _title(one: DoctorFinding, found: Examination) -> str:
    program = found.programs.get(one.about)
    title = TITLES.get(one.about, one.about)
    return f"{title} {visible(program.version)}" if program and program.version else title


def _summary(found: Examination) -> str:
    count = sum(one.level is FindingLevel.WRONG for one in found.findings)
    if not count and not found.hooked:
        return "no problems found, but no hooks are installed"
    if not count:
        return "no problems found; `bylaw doctor --canary` tests the clients"
    return "1 problem found" if count == 1 else f"{count} problems found"


def examination_as_data(found: Examination) -> dict[str, object]:
    """Return the same as plain values for JSON."""
    return {
        "root": visible(found.root),
        "version": __version__,
        "ok": found.is_fine,
        "clients": [
            {"host": host, "title": TITLES[host], "path": one.path, "version": one.version or None}
            for host, one in found.programs.items()
        ],
        "findings": [
            {
                "about": one.about,
                "level": one.level.value,
                "text": one.text,
                "step": one.step or None,
            }
            for one in found.findings
        ],
    }


def render_trials(trials: list[TrialResult], *, limit: int, color: bool) -> str:
    """Render tested clients, reasons for skipped ones, and the last output of failed ones."""
    paint = Paint(color)
    heading, *lines = align([_HEAD, *map(_trial_row, (one for one in trials if one.trial))])
    text = _join_lines([paint(Style.STRONG, heading), *lines]) if lines else ""
    for one in trials:
        if one.trial is None:
            text += _join_lines(_lines_after(f"{_client_name(one)}: ", visible(one.why), limit))
    for one in trials:
        if one.trial is not None and not one.trial.holds:
            last = one.trial.ran.output.strip().splitlines()[-_TAIL_LINES:]
            shown = "".join(f"  {visible(line)}\n" for line in last) or "  none\n"
            text += f"\n{one.title} ended with {one.ending}; its last output:\n{shown}"
    return text


def _client_name(one: TrialResult) -> str:
    return f"{one.title} {visible(one.version)}".rstrip()


def _trial_row(one: TrialResult) -> tuple[str, ...]:
    assert one.trial is not None
    seen = (one.trial.fired, one.trial.obeyed, one.trial.reached)
    return one.title, visible(one.version) or "-", *("yes" if good else "no" for good in seen)


def trial_as_data(one: TrialResult) -> dict[str, object]:
    """A trial for JSON. `fired`, `obeyed` and `reached` are null if the client was not tested."""
    trial = one.trial
    return {
        "host": one.host,
        "title": one.title,
        "version": one.version or None,
        "tried": trial is not None,
        "why": one.why or None,
        "fired": trial.fired if trial else None,
        "obeyed": trial.obeyed if trial else None,
        "reached": trial.reached if trial else None,
        "exit_code": trial.ran.exit_code if trial else None,
        "seconds": round(trial.ran.seconds, 1) if trial else None,
    }


_RELEASE_HELP = "Release failed gates for this many minutes; 0 ends the release."


@click.command(context_settings=HELP_OPTIONS)
@click.argument("host", type=click.Choice(list(CLIENTS)), metavar="[HOST]", required=False)
@click.option(
    "--canary",
    is_flag=True,
    help="Test the installed clients, or only HOST, with a harmless command.",
)
@click.option(
    "--release", type=click.IntRange(0, MAX_RELEASE_MINUTES), metavar="MINUTES", help=_RELEASE_HELP
)
@root_option
@text_or_json
def doctor_command(
    host: str | None, *, canary: bool, release: int | None, root: str, form: str
) -> int:
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
        return _release(resolve_root(root), release, form)
    return _canary(host, form) if canary else _examine(resolve_root(root), form)


def _examine(root: str, form: str) -> int:
    from bylaw.report.doctor import examine  # noqa: PLC0415 - only for this

    with progress() as tell:
        found = examine(root, tell)
    if form == "json":
        emit(examination_as_data(found))
    else:
        limit = screen_columns()
        write(render_examination(found, limit=limit, color=uses_color(sys.stdout)))
    return 0 if found.is_fine else MISTAKE


def _canary(host: str | None, form: str) -> int:
    from bylaw.hosts.hooks.canary import try_clients  # noqa: PLC0415 - only for this

    with progress() as tell:
        trials = try_clients([host] if host else list(CLIENTS), tell)
    if form == "json":
        emit({"trials": [trial_as_data(one) for one in trials]})
    else:
        write(render_trials(trials, limit=screen_columns(), color=uses_color(sys.stdout)))
    tried = [one.trial for one in trials if one.trial is not None]
    return 0 if tried and all(trial.holds for trial in tried) else MISTAKE


def _release(root: str, minutes: int, form: str) -> int:
    from bylaw.hosts.hooks.gate_release import release  # noqa: PLC0415 - only for this

    if minutes:
        require_terminal("releasing gates")
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
