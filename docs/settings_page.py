"""The tables of settings → docs/configuration.md."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from bylaw.runtime.root import CONFIGURATION
from bylaw.runtime.settings import TABLES, TRUSTED_TABLES, BookSettings, GeneralSettings, as_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.runtime.settings import Key, SettingsTable

INTRODUCTION = f"""\
All settings stand in `{CONFIGURATION}` at the root, or in `[tool.bylaw]` of `pyproject.toml`
there. The root is the nearest folder upwards that has one of them, else the top of the git work
tree. Without a file every setting has its default. An unknown table or key is an error, and so is a
value that cannot be used; `bylaw check` tells all of them.

Paths begin at the root and stay inside of it."""

TRUST = f"""\
Nothing in a repository starts a process, or loosens what is the default, before a person has
trusted it: `bylaw trust` shows what is asked for, and remembers the answer outside of the
repository. The tables {", ".join(f"`[{name}]`" for name in TRUSTED_TABLES)} belong to what is
trusted. Until then, and again after they have changed, the last column says what counts of them."""

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
    """Every table with its keys."""
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
