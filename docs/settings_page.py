"""Build docs/configuration.md from the tables of settings."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from bylaw.runtime.root import CONFIGURATION
from bylaw.runtime.settings import TABLES, TRUSTED_TABLES, BookSettings, GeneralSettings, as_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.runtime.settings import Key, SettingsTable

INTRODUCTION = f"""\
Write settings into `{CONFIGURATION}` at the root, or into `[tool.bylaw]` of `pyproject.toml` there.
The root is the nearest parent folder that has one of them, or else the top of the git work tree.
Without a file, every setting has its default. An unknown table, an unknown key and an invalid value
are errors. `bylaw check` reports all of them.

Paths are relative to the root and must stay inside it."""

TRUST = f"""\
Nothing in a repository starts a process, or loosens a default, before you trust it. `bylaw trust`
shows what the repository requests, and stores your answer outside the repository. The tables
{", ".join(f"`[{name}]`" for name in TRUSTED_TABLES)} need trust.
Without trust, and again after these tables change, the last column says which settings apply."""

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


def _section(heading: str, table: type[SettingsTable]) -> Iterator[str]:
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
