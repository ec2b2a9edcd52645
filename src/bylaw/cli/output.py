"""A value → one line of JSON on standard output; a text → standard output, in colour or not."""

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
    help="json: for programs.",
)
always_json = click.option(
    "--format",
    type=click.Choice(["json"]),
    default="json",
    expose_value=False,
    help="This verb always prints JSON; the option is there so that scripts may say so.",
)


def emit(value: object) -> None:
    """Write one compact JSON line; the value must be JSON, so its numbers must be finite."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    write(visible_in_json(text) + "\n")


def write(text: str) -> None:
    """Write to standard output, which `main` has set to UTF-8."""
    if sys.stdout is None:  # whoever started us closed it
        raise BrokenPipeError
    sys.stdout.write(text)


def in_color(stream: TextIO | None) -> bool:
    """Whether a person looks at it who did not ask for plain text."""
    return stream is not None and stream.isatty() and "NO_COLOR" not in os.environ


def screen_columns() -> int:
    """The width of the terminal; elsewhere one that every screen has."""
    if sys.stdout is None or not sys.stdout.isatty():
        return PIPE_COLUMNS
    return shutil.get_terminal_size().columns
