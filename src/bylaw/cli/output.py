"""Write JSON lines and texts to standard output; options and facts about the output."""

from __future__ import annotations

import json
import os
import shutil
import sys
from typing import TYPE_CHECKING

import click

from bylaw.model.visible import visible_in_json

if TYPE_CHECKING:
    from typing import TextIO

PIPE_COLUMNS = 80

text_or_json = click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="json: machine-readable.",
)
always_json = click.option(
    "--format",
    type=click.Choice(["json"]),
    default="json",
    expose_value=False,
    help="Accepted for scripts; the output is always JSON.",
)


def emit(value: object) -> None:
    """Write one compact line of JSON. The value must be valid JSON, so numbers must be finite."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    write(visible_in_json(text) + "\n")


def write(text: str) -> None:
    """Write to standard output, which `main` sets to UTF-8."""
    if sys.stdout is None:  # the parent process closed it
        raise BrokenPipeError
    sys.stdout.write(text)


def in_color(stream: TextIO | None) -> bool:
    """Whether the stream is a terminal and `NO_COLOR` is not set."""
    return stream is not None and stream.isatty() and "NO_COLOR" not in os.environ


def screen_columns() -> int:
    """Return the width of the terminal, or `PIPE_COLUMNS` for other outputs."""
    if sys.stdout is None or not sys.stdout.isatty():
        return PIPE_COLUMNS
    return shutil.get_terminal_size().columns
