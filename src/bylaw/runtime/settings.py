"""The tables of `bylaw.toml`: keys, defaults, meanings, and which values apply without trust.

The reader checks against these tables and the documentation shows them. All mistakes of a file are
collected and reported at once. All classes are Structs, because they are fast to create and every
start of Bylaw creates them.
"""

from __future__ import annotations

from enum import Enum, StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from bylaw.languages.toml import Table
from bylaw.model.codes.files import UNKNOWN_SETTING, UNUSABLE_SETTING, WRONG_SETTING
from bylaw.model.diagnostic import error, sort_diagnostics
from bylaw.model.errors import LoadError
from bylaw.model.suggest import did_you_mean
from bylaw.model.vocabulary import PolicyMode
from bylaw.runtime.setting_types import (
    ADDRESS,
    FILE,
    NAME,
    PATH,
    PROGRAM,
    VARIABLE,
    BoolSetting,
    ChoiceSetting,
    IntSetting,
    Patterns,
    TextListSetting,
)
from bylaw.store.journal.database import Durability

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Mapping

    from bylaw.languages.toml import Entry, Node
    from bylaw.model.codes import Code
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.source import SourceFile, Span
    from bylaw.model.values import JSON

    AnyTable = TypeVar("AnyTable", bound="SettingsTable")
    T = TypeVar("T", bound="SettingsTable")


class UntrustedValue(Enum):
    """Which value applies while the settings are not trusted; the values are shown to people."""

    APPLIES = "applies"  # no value is laxer than the default
    DEFAULT = "the default applies"  # no value is stricter, or strictness does not matter here
    SMALLER = "applies if it is smaller than the default"
    LARGER = "applies if it is larger than the default"

    def applicable_value(self, value: Any, default: Any) -> Any:
        """Return the value that applies while it is not trusted."""
        match self:
            case UntrustedValue.APPLIES:
                return value
            case UntrustedValue.DEFAULT:
                return default
            case UntrustedValue.SMALLER:
                return min(value, default)
            case UntrustedValue.LARGER:
                return max(value, default)


class SettingType(Protocol):
    """The type of a setting."""

    @property
    def words(self) -> str:
        """The allowed values, in words."""

    def read(self, key: str, node: Node, problems: Problems) -> Any:
        """Return the value. A refused value is added to `problems`; then the result is unused."""


class Key(Struct, frozen=True):
    """One key of a table."""

    name: str
    form: SettingType
    meaning: str
    untrusted: UntrustedValue = UntrustedValue.APPLIES


class SettingsTable(Struct, frozen=True):
    """A table: a field with a default for each key, and the keys in the same order."""

    keys: ClassVar[tuple[Key, ...]] = ()


DAY_S = 24 * 60 * 60
MAX_TOKENS = 1_000_000_000


class OnFailure(StrEnum):
    """What a gate does when Bylaw itself fails."""

    CLOSED = "closed"
    OPEN = "open"


class GeneralSettings(SettingsTable, frozen=True):
    """Keys before the first table."""

    discover: bool = True

    keys = (
        Key(
            "discover",
            BoolSetting(),
            "Find rule files by convention. `false`: use only those that a `[[book]]` names.",
        ),
    )


class BookSettings(SettingsTable, frozen=True):
    """One book; the table may be repeated."""

    path: str = ""
    dialect: str = ""

    keys = (
        Key("path", NAME, "A rule file, or a folder of rule files, below the root. Required."),
        Key("dialect", NAME, "Its language, if name and text do not show it."),
    )


class JournalSettings(SettingsTable, frozen=True):
    """The journal of events and decisions."""

    path: str = ".bylaw/state/journal.db"
    keep_days: int | None = None
    redact: tuple[re.Pattern[str], ...] = ()
    durability: Durability = Durability.PROCESS

    keys = (
        Key("path", FILE, "The file of the journal."),
        Key("keep_days", IntSetting(1, 36_500), "Days until payloads are erased. None: keep them."),
        Key(
            "redact",
            Patterns(),
            "Text that matches is removed before anything is stored. Names of sessions, calls and "
            "rules, and the texts of rule files, do not change. Repeats need a limit, such as "
            "`{1,100}`, except the last one of a pattern.",
        ),
        Key(
            "durability",
            ChoiceSetting(Durability),
            "What a record survives: a crash of the process, or a power failure as well.",
        ),
    )


class CommandSettings(SettingsTable, frozen=True):
    """Programs that rules start."""

    roots: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    timeout_s: int = 60

    keys = (
        Key(
            "roots",
            TextListSetting(PATH),
            "Folders in which commands of RULE_DSL rules may run. Empty: they may not run. "
            "Commands of file policies run at the root of the repository.",
            UntrustedValue.DEFAULT,
        ),
        Key(
            "allow",
            TextListSetting(PROGRAM),
            "The only programs that may start. Empty: those that the language allows.",
        ),
        Key(
            "env",
            TextListSetting(VARIABLE),
            "More variables that programs may see.",
            UntrustedValue.DEFAULT,
        ),
        Key(
            "timeout_s",
            IntSetting(1, DAY_S),
            "Seconds after which a program is stopped.",
            UntrustedValue.SMALLER,
        ),
    )


class LawSettings(SettingsTable, frozen=True):
    """RULE_DSL and its bus."""

    policy_mode: PolicyMode = PolicyMode.STRICT
    bus: str = "runtime/bus"

    keys = (
        Key(
            "policy_mode",
            ChoiceSetting(PolicyMode),
            "How messages are checked. `relaxed`: an unknown key, another phase, or a missing "
            "title or notes is only recorded as a warning.",
            UntrustedValue.DEFAULT,
        ),
        Key("bus", PATH, "The folder of the bus.", UntrustedValue.DEFAULT),
    )


class StopSettings(SettingsTable, frozen=True):
    """What happens when an agent wants to stop."""

    max_blocks: int = 3

    keys = (
        Key(
            "max_blocks",
            IntSetting(1, 100),
            "How many times the same violation may block a stop. After that, the stop is allowed "
            "with a warning.",
            UntrustedValue.LARGER,
        ),
    )


class HooksSettings(SettingsTable, frozen=True):
    """Hooks of coding agents."""

    on_failure: OnFailure = OnFailure.CLOSED
    subagents: bool = True

    keys = (
        Key(
            "on_failure",
            ChoiceSetting(OnFailure),
            "What a gate does when Bylaw itself fails. An event that is not a gate is allowed, and "
            "the failure is reported.",
            UntrustedValue.DEFAULT,
        ),
        Key(
            "subagents",
            BoolSetting(),
            "Apply rules to subagents as well. Protection applies to them in any case.",
            UntrustedValue.DEFAULT,
        ),
    )


class ProtectSettings(SettingsTable, frozen=True):
    """Files that an agent must not change."""

    enabled: bool = True
    paths: tuple[str, ...] = ()

    keys = (
        Key(
            "enabled",
            BoolSetting(),
            "Protect rule files, `bylaw.toml`, the journal and the configuration of hooks.",
            UntrustedValue.DEFAULT,
        ),
        Key("paths", TextListSetting(PATH), "More files and folders, with everything in them."),
    )


class ModelSettings(SettingsTable, frozen=True):
    """The model behind an agent."""

    token_budget: int | None = None
    context_window: int | None = None
    default: str | None = None
    base_url: str | None = None

    keys = (
        Key(
            "token_budget",
            IntSetting(1, MAX_TOKENS),
            "Tokens that a session may use. Rules can read the share used so far.",
        ),
        Key(
            "context_window",
            IntSetting(1, MAX_TOKENS),
            "Size of the model's context in tokens. Rules can read it.",
        ),
        Key("default", NAME, "The model that `bylaw chat` uses.", UntrustedValue.DEFAULT),
        Key("base_url", ADDRESS, "The server of the model.", UntrustedValue.DEFAULT),
    )


class Settings(Struct, frozen=True):
    """All tables; each field has the name of its table."""

    journal: JournalSettings = JournalSettings()
    command: CommandSettings = CommandSettings()
    law: LawSettings = LawSettings()
    stop: StopSettings = StopSettings()
    hooks: HooksSettings = HooksSettings()
    protect: ProtectSettings = ProtectSettings()
    model: ModelSettings = ModelSettings()


TABLES: dict[str, type[SettingsTable]] = {
    "journal": JournalSettings,
    "command": CommandSettings,
    "law": LawSettings,
    "stop": StopSettings,
    "hooks": HooksSettings,
    "protect": ProtectSettings,
    "model": ModelSettings,
}
# A person trusts these tables together. The journal settings apply without trust.
TRUSTED_TABLES = tuple(name for name in TABLES if name != "journal")


def restrict(settings: Settings) -> Settings:
    """Return the settings that apply while they are not trusted: none laxer than its default."""
    return replace(settings, **{name: _restrict_table(getattr(settings, name)) for name in TABLES})


def _restrict_table(table: AnyTable) -> AnyTable:
    defaults = type(table)()
    values = {
        key.name: key.untrusted.applicable_value(
            getattr(table, key.name), getattr(defaults, key.name)
        )
        for key in table.keys
    }
    return replace(table, **values)


def values_to_trust(settings: Settings) -> dict[str, dict[str, JSON]]:
    """Return the values that a person must review: those that differ from the defaults."""
    found = {name: _changed_values(getattr(settings, name)) for name in TRUSTED_TABLES}
    return {name: values for name, values in found.items() if values}


def _changed_values(table: SettingsTable) -> dict[str, JSON]:
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


def read_tables(entries: Mapping[str, Entry], problems: Problems) -> Settings:
    """Read all tables; a missing table has its defaults."""
    found: dict[str, Any] = {}
    for name, kind in TABLES.items():
        node = entries[name].node if name in entries else None
        if isinstance(node, Table):
            found[name] = read_table(kind, node.entries, problems, f"`[{name}]`")
        elif node is not None:
            problems.wrong(name, f"a table: `[{name}]`", node.span)
    return Settings(**found)


def read_table(
    kind: type[T], entries: Mapping[str, Entry], problems: Problems, where: str = ""
) -> T:
    """Read one table; `where` names it in error messages."""
    keys = {key.name: key for key in kind.keys}
    values: dict[str, Any] = {}
    for name, entry in entries.items():
        if name in keys:
            values[name] = keys[name].form.read(name, entry.node, problems)
        else:
            problems.unknown(name, where, entry.key, keys)
    return kind(**values)


class Problems:
    """The mistakes in one settings file."""

    def __init__(self, source: SourceFile) -> None:
        self._source = source
        self._findings: list[Diagnostic] = []

    def raise_if_any(self) -> None:
        """Raise LoadError with all mistakes, if there are any."""
        if self._findings:
            raise LoadError(sort_diagnostics(self._findings))

    def unknown(self, key: str, where: str, span: Span, known: Iterable[str]) -> None:
        """Add an unknown key."""
        headline = f"unknown setting `{key}`" + (f" in {where}" if where else "")
        self.refuse(UNKNOWN_SETTING, headline, span, did_you_mean(key, known))

    def wrong(self, key: str, wanted: str, span: Span) -> None:
        """Add a value of the wrong type."""
        headline = f"`{key}` has a value of the wrong type"
        self.refuse(WRONG_SETTING, headline, span, f"write {wanted}")

    def unusable(self, key: str, why: str, span: Span, help_: str) -> None:
        """Add a value of the right type that cannot be used."""
        self.refuse(UNUSABLE_SETTING, f"invalid value for `{key}`: {why}", span, help_)

    def refuse(self, code: Code, headline: str, span: Span, help_: str = "") -> None:
        """Add any other mistake."""
        self._findings.append(error(code, headline, self._source, span, help=help_))
