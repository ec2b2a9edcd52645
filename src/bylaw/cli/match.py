"""`bylaw match`: match a path pattern against paths; one line of JSON for each path."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bylaw.cli.frame import HELP_OPTIONS
from bylaw.cli.output import always_json, emit
from bylaw.cli.reading import STANDARD_INPUT, read_source
from bylaw.expr.paths import Pattern, normalise, pattern
from bylaw.model.errors import PatternError
from bylaw.model.source import BOM
from bylaw.model.visible import clipped
from bylaw.tools.printers.text import render

if TYPE_CHECKING:
    from collections.abc import Sequence

LONGEST_SHOWN = 200  # characters of a pattern in an error message


@click.command(context_settings=HELP_OPTIONS)
@click.argument("text", metavar="PATTERN")
@click.argument("paths", type=click.Path(), metavar="PATH…", nargs=-1, required=True)
@always_json
def command(text: str, paths: tuple[str, ...]) -> int:
    """Match PATTERN against each PATH and print what it captures.

    Prints {"path", "match", "captures"} for each path, with exit code 0. An invalid pattern
    gives {"error": {"code": "pattern-error", "message"}} with exit code 1. Paths are relative
    to the top of the repository; `src/../a.py` is `a.py`. A single - reads paths from standard
    input, one per line. Quote the pattern, so that the shell does not expand it.

    \b
    Examples:
      bylaw match "src/**/*.py" src/app/main.py
      bylaw match "src/{path}.py" src/app/main.py      captures path: app/main
      bylaw match "{module}/{name}.{js,ts}" web/index.ts
      git ls-files | bylaw match "tests/{path}_test.py" -

    \b
    Patterns:
      *       any characters of a name     {name}   captures some of them
      ?       one character of a name      {path}   captures across folders
      **/     any number of folders        {*} {**} the same, capturing nothing
      **      at the end: all below        {js,ts}  one of these texts
    """
    try:
        checked = pattern(text)
    except PatternError as refused:
        click.echo(render(refused.diagnostics), nl=False, err=True)
        message = f"{clipped(text, LONGEST_SHOWN)}: {refused}"
        emit({"error": {"code": "pattern-error", "message": message}})
        return 1
    for path in _given(paths):
        emit(_answer(checked, path))
    return 0


def _given(paths: Sequence[str]) -> Sequence[str]:
    if list(paths) != [STANDARD_INPUT]:
        return paths
    lines = read_source(STANDARD_INPUT).text.removeprefix(BOM).split("\n")
    return [path for path in (line.removesuffix("\r") for line in lines) if path]


def _answer(checked: Pattern, path: str) -> dict[str, object]:
    normal = normalise(path)
    captures = None if normal is None else checked.match(normal)
    return {"path": path, "match": captures is not None, "captures": captures or {}}
