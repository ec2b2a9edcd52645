"""The tables of `bylaw.toml` as values: what they are, what counts of them while untrusted.

`tables` says which keys there are, `key` and `forms` what may stand behind one, `patterns` which
regular expressions are safe, `reader` turns a text into all of it, `problems` collects mistakes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from enum import Enum
from typing import TYPE_CHECKING, Any

from bylaw.runtime.settings.key import keys_of
from bylaw.runtime.settings.tables import (
    CommandSettings,
    HooksSettings,
    JournalSettings,
    LawSettings,
    ModelSettings,
    ProtectSettings,
    StopSettings,
)

if TYPE_CHECKING:
    from bylaw.model.values import JSON


@dataclass(frozen=True, slots=True)
class Settings:
    """All tables; each field has the name of its table."""

    journal: JournalSettings = field(default_factory=JournalSettings)
    command: CommandSettings = field(default_factory=CommandSettings)
    law: LawSettings = field(default_factory=LawSettings)
    stop: StopSettings = field(default_factory=StopSettings)
    hooks: HooksSettings = field(default_factory=HooksSettings)
    protect: ProtectSettings = field(default_factory=ProtectSettings)
    model: ModelSettings = field(default_factory=ModelSettings)


TABLES: dict[str, type[Any]] = {
    "journal": JournalSettings,
    "command": CommandSettings,
    "law": LawSettings,
    "stop": StopSettings,
    "hooks": HooksSettings,
    "protect": ProtectSettings,
    "model": ModelSettings,
}
# A person trusts these tables as a whole; the journal is the same whoever is trusted.
OF_TRUST = tuple(name for name in TABLES if name != "journal")


def restrained(settings: Settings) -> Settings:
    """What counts while nobody has trusted the settings: nothing laxer than the defaults."""
    tables = {one.name: _restrained(getattr(settings, one.name)) for one in fields(settings)}
    return replace(settings, **tables)


def _restrained(table: Any) -> Any:
    values = {
        key.name: key.untrusted.restrain(getattr(table, key.name), key.default)
        for key in keys_of(type(table))
    }
    return replace(table, **values)


def for_trust(settings: Settings) -> dict[str, dict[str, JSON]]:
    """What a person has to know: the values of those tables that are not the defaults."""
    found = {name: _unusual(getattr(settings, name)) for name in OF_TRUST}
    return {name: values for name, values in found.items() if values}


def _unusual(table: Any) -> dict[str, JSON]:
    values = {key: getattr(table, key.name) for key in keys_of(type(table))}
    return {key.name: as_json(value) for key, value in values.items() if value != key.default}


def as_json(value: Any) -> JSON:
    """A value of a setting as JSON, which is also how TOML writes it."""
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, tuple):
        return [as_json(one) for one in value]
    assert value is None or isinstance(value, bool | int | str)
    return value
