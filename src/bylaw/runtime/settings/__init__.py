"""The tables of `bylaw.toml` as values, and which values apply while they are not trusted.

`tables` defines the keys, `key` and `forms` the allowed values, `patterns` the regular expressions
that are safe, `reader` reads a text, `problems` collects mistakes.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

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
    from bylaw.runtime.settings.key import Table

    AnyTable = TypeVar("AnyTable", bound=Table)


class Settings(Struct, frozen=True):
    """All tables; each field has the name of its table."""

    journal: JournalSettings = JournalSettings()
    command: CommandSettings = CommandSettings()
    law: LawSettings = LawSettings()
    stop: StopSettings = StopSettings()
    hooks: HooksSettings = HooksSettings()
    protect: ProtectSettings = ProtectSettings()
    model: ModelSettings = ModelSettings()


TABLES: dict[str, type[Table]] = {
    "journal": JournalSettings,
    "command": CommandSettings,
    "law": LawSettings,
    "stop": StopSettings,
    "hooks": HooksSettings,
    "protect": ProtectSettings,
    "model": ModelSettings,
}
# A person trusts these tables together. The journal settings apply without trust.
OF_TRUST = tuple(name for name in TABLES if name != "journal")


def restrained(settings: Settings) -> Settings:
    """Return the settings that apply while they are not trusted: none laxer than its default."""
    return replace(settings, **{name: _restrained(getattr(settings, name)) for name in TABLES})


def _restrained(table: AnyTable) -> AnyTable:
    defaults = type(table)()
    values = {
        key.name: key.untrusted.restrain(getattr(table, key.name), getattr(defaults, key.name))
        for key in table.keys
    }
    return replace(table, **values)


def for_trust(settings: Settings) -> dict[str, dict[str, JSON]]:
    """Return the values that a person must review: those that differ from the defaults."""
    found = {name: _unusual(getattr(settings, name)) for name in OF_TRUST}
    return {name: values for name, values in found.items() if values}


def _unusual(table: Table) -> dict[str, JSON]:
    defaults = type(table)()
    return {
        key.name: as_json(getattr(table, key.name))
        for key in table.keys
        if getattr(table, key.name) != getattr(defaults, key.name)
    }


def as_json(value: Any) -> JSON:
    """Return the value of a setting as JSON; TOML writes it the same way."""
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, tuple):
        return [as_json(one) for one in value]
    assert value is None or isinstance(value, bool | int | str)
    return value
