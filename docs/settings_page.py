"""Write docs/configuration.md from the tables of settings."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from bylaw.runtime.configuration import CONFIGURATION
from bylaw.runtime.settings import OF_TRUST, TABLES, as_json
from bylaw.runtime.settings.tables import BookSettings, GeneralSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.runtime.settings.key import Key, Table

INTRODUCTION = f"""\
Write settings into `{CONFIGURATION}` at the root, or into `[tool.bylaw]` of `pyproject.toml` there.
The root is the nearest folder, from the current one upwards, that has one of them, else the top of
the git work tree. Without a file, every setting has its default. An unknown table or key is an
error, and so is an invalid value. `bylaw check` reports all of them.

Paths are relative to the root and must stay inside of it."""

TRUST = f"""\
A repository can start processes, or loosen a default, only after you trust it. `bylaw trust` shows
what the repository requests, and stores your answer outside of the repository. The tables
{", ".join(f"`[{name}]`" for name in OF_TRUST)} need trust. Until you trust them, and again after
they changed, the last column says which values apply."""

EXAMPLE = """\
```toml
discover = true

[[book]]
path = "prompts/main.chatmd"

[journal]
keep_days = 90
redact = ['sk-[A-Za-z0-9]+', '(?i)bearer \\S+']

[command]
roots = ["src"]
timeout_s = 30

[protect]
paths = ["deploy"]

[model]
token_budget = 100000
```"""


def settings_page() -> str:
    """Return the page: every table with its keys."""
    parts = [
        "# Configuration",
        INTRODUCTION,
        EXAMPLE,
        TRUST,
        *_section("Before the first table", GeneralSettings),
        *_section("`[[book]]`", BookSettings),
    ]
    for name, table in TABLES.items():
        parts += _section(f"`[{name}]`", table)
    return "\n\n".join(parts) + "\n"


def _section(heading: str, table: type[Table]) -> Iterator[str]:
    yield f"## {heading}"
    yield str(table.__doc__)
    head = [
        "| Key | Value | Default | Meaning | While untrusted |",
        "| --- | --- | --- | --- | --- |",
    ]
    yield "\n".join([*head, *(_row(key, getattr(table(), key.name)) for key in table.keys)])


def _row(key: Key, default_value: object) -> str:
    value = as_json(default_value)
    default = "none" if value in (None, [], "") else f"`{json.dumps(value)}`"
    cells = [f"`{key.name}`", key.form.words, default, key.meaning, key.untrusted.value]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
