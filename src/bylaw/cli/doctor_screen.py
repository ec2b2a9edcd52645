"""What `bylaw doctor` found → lines for people, values for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.hosts.hooks.doctor.finding import Level
from bylaw.model.visible import visible
from bylaw.runtime.effects import ABILITIES, TITLES
from bylaw.tools.printers.paint import Paint, Style
from bylaw.tools.printers.table import aligned
from bylaw.version import __version__

if TYPE_CHECKING:
    from bylaw.hosts.hooks.canary.trials import Tried
    from bylaw.hosts.hooks.doctor.examining import Examination
    from bylaw.hosts.hooks.doctor.finding import Finding

_STYLES = {Level.FINE: Style.GOOD, Level.NOTE: Style.WARNING, Level.WRONG: Style.BAD}
_MARK = max(len(one.value) for one in Level)
_TAIL_LINES = 8
_HEAD = ("client", "version", "hook fired", "obeyed", "reason reached the model")


def render_examination(found: Examination, *, color: bool) -> str:
    """One line a finding, its step below it, and a summary."""
    paint = Paint(color)
    rows = [(_title(one, found), visible(one.text)) for one in found.findings]
    lines = [f"bylaw {__version__} in {visible(found.root)}\n"]
    for one, line in zip(found.findings, aligned(rows), strict=True):
        mark = paint(_STYLES[one.level], one.level.value.ljust(_MARK))
        lines.append(f"  {mark}  {line}\n")
        if one.step:
            lines.append(f"  {' ' * _MARK}    → {visible(one.step)}\n")
    absent = [TITLES[host] for host in ABILITIES if host not in found.programs]
    if absent:
        lines.append(f"\nnot installed: {', '.join(absent)}\n")
    return "".join(lines) + f"\n{_summary(found)}\n"


def _title(one: Finding, found: Examination) -> str:
    program = found.programs.get(one.about)
    title = TITLES.get(one.about, one.about)
    return f"{title} {visible(program.version)}" if program and program.version else title


def _summary(found: Examination) -> str:
    count = sum(one.level is Level.WRONG for one in found.findings)
    if not count:
        return "nothing is wrong; `bylaw doctor --canary` tries the clients out"
    return "1 thing is wrong" if count == 1 else f"{count} things are wrong"


def examination_as_data(found: Examination) -> dict[str, object]:
    """The same for programs."""
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


def render_trials(trials: list[Tried], *, color: bool) -> str:
    """A table; below it what clients printed that do not hold."""
    paint = Paint(color)
    lines = aligned([_HEAD, *(_row(one) for one in trials)])
    text = "".join(f"{line}\n" for line in (paint(Style.STRONG, lines[0]), *lines[1:]))
    for one in trials:
        if one.seen is not None and not one.seen.holds:
            last = one.seen.ran.output.strip().splitlines()[-_TAIL_LINES:]
            shown = "".join(f"  {visible(line)}\n" for line in last) or "  nothing\n"
            text += f"\n{one.title} ended with {one.ending} and said at last:\n{shown}"
    return text


def _row(one: Tried) -> tuple[str, ...]:
    seen = one.seen
    if seen is None:
        return one.title, visible(one.version) or "-", visible(one.why), "", ""
    told = ("yes" if good else "no" for good in (seen.fired, seen.obeyed, seen.reached))
    return one.title, visible(one.version) or "-", *told


def trial_as_data(one: Tried) -> dict[str, object]:
    """A trial for programs; `fired`, `obeyed` and `reached` are null if it was not tried."""
    seen = one.seen
    return {
        "host": one.host,
        "title": one.title,
        "version": one.version or None,
        "tried": seen is not None,
        "why": one.why or None,
        "fired": seen.fired if seen else None,
        "obeyed": seen.obeyed if seen else None,
        "reached": seen.reached if seen else None,
        "exit_code": seen.ran.exit_code if seen else None,
        "seconds": round(seen.ran.seconds, 1) if seen else None,
    }
