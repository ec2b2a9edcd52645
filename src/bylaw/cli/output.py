"""A value → one line of JSON on standard output, for the verbs that programs read."""

from __future__ import annotations

import json
import sys

import click

from bylaw.model.visible import visible_in_json

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
