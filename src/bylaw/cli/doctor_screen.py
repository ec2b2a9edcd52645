"""Results of `bylaw doctor` as lines for people and as values for JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.hosts.hooks.doctor.finding import Level
from bylaw.model.visible import visible, visible_once, width
from bylaw.runtime.effects import ABILITIES, TITLES
from bylaw.tools.printers.paint import Paint, Style
from bylaw.tools.printers.table import MIN_WIDTH, aligned
from bylaw.tools.printers.wording import wrapped
from bylaw.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bylaw.hosts.hooks.canary.trials import Tried
    from bylaw.hosts.hooks.doctor.examining import Examination
    from bylaw.hosts.hooks.doctor.finding import Finding

_STYLES = {Level.FINE: Style.GOOD, Level.NOTE: Style.WARNING, Level.WRONG: Style.BAD}
_MARK = max(len(one.value) for one in Level)
_TAIL_LINES = 8
_MAX_LINES = 100  # of one finding
_HEAD = ("client", "version", "hook fired", "obeyed", "reason reached the model")


def render_examination(found: Examination, *, limit: int, color: bool) -> str:
    """Render each finding with its step below it, and a summary. Long lines are wrapped."""
    lines = [f"bylaw {__version__} in {visible(found.root)}", *_findings(found, limit, color=color)]
    absent = [TITLES[host] for host in ABILITIES if host not in found.programs]
    if absent:
        lines += ["", *wrapped(f"not installed: {', '.join(absent)}", limit, _MAX_LINES)]
    return _text([*lines, "", *wrapped(_summary(found), limit, _MAX_LINES)])


def _findings(found: Examination, limit: int, *, color: bool) -> Iterator[str]:
    paint = Paint(color)
    titles = [_title(one, found) for one in found.findings]
    column = max(map(width, titles), default=0)
    for one, title in zip(found.findings, titles, strict=True):
        mark = one.level.value.ljust(_MARK)
        head = f"  {mark}  {title}{' ' * (column - width(title))}  "
        first, *rest = _beside(head, visible_once(one.text), limit)
        yield first.replace(mark, paint(_STYLES[one.level], mark), 1)
        yield from rest
        if one.step:
            yield from _beside(f"  {' ' * _MARK}    → ", visible_once(one.step), limit)


def _beside(head: str, text: str, limit: int) -> Iterator[str]:
    """Yield a text after its head. What does not fit continues below, indented."""
    first, *rest = wrapped(text, max(limit - width(head), MIN_WIDTH), _MAX_LINES)
    yield f"{head}{first}".rstrip()
    yield from (" " * width(head) + line for line in rest)


def _text(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _title(one: Finding, found: Examination) -> str:
    program = found.programs.get(one.about)
    title = TITLES.get(one.about, one.about)
    return f"{title} {visible(program.version)}" if program and program.version else title


def _summary(found: Examination) -> str:
    count = sum(one.level is Level.WRONG for one in found.findings)
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


def render_trials(trials: list[Tried], *, limit: int, color: bool) -> str:
    """Render tested clients, reasons for skipped ones, and the last output of failed ones."""
    paint = Paint(color)
    heading, *lines = aligned([_HEAD, *map(_row, (one for one in trials if one.trial))])
    text = _text([paint(Style.STRONG, heading), *lines]) if lines else ""
    for one in trials:
        if one.trial is None:
            text += _text(_beside(f"{_named(one)}: ", visible(one.why), limit))
    for one in trials:
        if one.trial is not None and not one.trial.holds:
            last = one.trial.ran.output.strip().splitlines()[-_TAIL_LINES:]
            shown = "".join(f"  {visible(line)}\n" for line in last) or "  none\n"
            text += f"\n{one.title} ended with {one.ending}; its last output:\n{shown}"
    return text


def _named(one: Tried) -> str:
    return f"{one.title} {visible(one.version)}".rstrip()


def _row(one: Tried) -> tuple[str, ...]:
    assert one.trial is not None
    seen = (one.trial.fired, one.trial.obeyed, one.trial.reached)
    return one.title, visible(one.version) or "-", *("yes" if good else "no" for good in seen)


def trial_as_data(one: Tried) -> dict[str, object]:
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
