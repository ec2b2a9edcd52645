"""The tables of `bylaw.toml`, one class each: keys, defaults, meanings.

What is said here is what the reader checks, the documentation shows and restraint follows.
"""

# ruff: noqa: RUF009 - `setting` makes the field of a dataclass
from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from bylaw.model.vocabulary import PolicyMode
from bylaw.runtime.settings.forms import (
    ADDRESS,
    FILE,
    NAME,
    PATH,
    PROGRAM,
    VARIABLE,
    Choice,
    Flag,
    Texts,
    Whole,
)
from bylaw.runtime.settings.key import Untrusted, setting
from bylaw.runtime.settings.patterns import Patterns

if TYPE_CHECKING:
    import re

DAY_S = 24 * 60 * 60
MAX_TOKENS = 1_000_000_000


class Durability(StrEnum):
    """What a record survives once it is written."""

    PROCESS = "process"
    POWER = "power"


class OnFailure(StrEnum):
    """What a gate does when Bylaw itself fails."""

    CLOSED = "closed"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class GeneralSettings:
    """What stands before the first table."""

    discover: bool = setting(
        True, Flag(), "Find books by convention; `false`: only those that a `[[book]]` names."
    )


@dataclass(frozen=True, slots=True)
class BookSettings:
    """One book; the table may be repeated."""

    path: str = setting("", NAME, "A rule file, or a folder of rule files, below the root. Needed.")
    dialect: str = setting("", NAME, "Its language, where the name and the text do not tell.")


@dataclass(frozen=True, slots=True)
class JournalSettings:
    """The record of events and decisions."""

    path: str = setting(".bylaw/state/journal.db", FILE, "Where it lies.")
    keep_days: int | None = setting(
        None, Whole(1, 36_500), "Erase payloads that are older; none: keep them."
    )
    redact: tuple[re.Pattern[str], ...] = setting(
        (),
        Patterns(),
        "What matches is taken out before anything is stored. Repeats need a bound, such as "
        "`{1,100}`, but for the last one of a pattern.",
    )
    durability: Durability = setting(
        Durability.PROCESS,
        Choice(Durability),
        "What a record survives: a crash of the process, or also that the power fails.",
    )


@dataclass(frozen=True, slots=True)
class CommandSettings:
    """Programs that rules start."""

    roots: tuple[str, ...] = setting(
        (),
        Texts(PATH),
        "Folders in which a command of a RULE_DSL rule may run; none: it cannot run any. Commands "
        "of file policies run at the root of the repository.",
        Untrusted.DEFAULT,
    )
    allow: tuple[str, ...] = setting(
        (), Texts(PROGRAM), "No other program is started; none: what the language allows."
    )
    env: tuple[str, ...] = setting(
        (), Texts(VARIABLE), "Further variables that programs may see.", Untrusted.DEFAULT
    )
    timeout_s: int = setting(
        60, Whole(1, DAY_S), "Seconds after which a program is ended.", Untrusted.SMALLER
    )


@dataclass(frozen=True, slots=True)
class LawSettings:
    """RULE_DSL and its bus."""

    policy_mode: PolicyMode = setting(
        PolicyMode.STRICT,
        Choice(PolicyMode),
        "How messages are read; `relaxed` records as a warning that a message has an unknown key, "
        "another phase, or no title or notes.",
        Untrusted.DEFAULT,
    )
    bus: str = setting("runtime/bus", PATH, "The folder of the bus.", Untrusted.DEFAULT)


@dataclass(frozen=True, slots=True)
class StopSettings:
    """When an agent wants to hand control back."""

    max_blocks: int = setting(
        3,
        Whole(1, 100),
        "So often an unchanged violation blocks a stop; then it is let through with a warning to "
        "the person.",
        Untrusted.LARGER,
    )


@dataclass(frozen=True, slots=True)
class HooksSettings:
    """Hooks of coding agents."""

    on_failure: OnFailure = setting(
        OnFailure.CLOSED,
        Choice(OnFailure),
        "What a gate does when Bylaw itself fails. Whatever is no gate stays open, and the failure "
        "is reported.",
        Untrusted.DEFAULT,
    )
    subagents: bool = setting(True, Flag(), "Rules hold for subagents too.", Untrusted.DEFAULT)


@dataclass(frozen=True, slots=True)
class ProtectSettings:
    """Files that an agent must not change."""

    enabled: bool = setting(
        True,
        Flag(),
        "Protect rule files, `bylaw.toml`, the journal and the configuration of hooks.",
        Untrusted.DEFAULT,
    )
    paths: tuple[str, ...] = setting(
        (), Texts(PATH), "Further files and folders, with all that is in them."
    )


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """The model behind an agent."""

    token_budget: int | None = setting(
        None, Whole(1, MAX_TOKENS), "Tokens that a session may use; rules can read how far it is."
    )
    context_window: int | None = setting(
        None, Whole(1, MAX_TOKENS), "Tokens that the model can see at once; rules can read it."
    )
    default: str | None = setting(
        None, NAME, "The model that `bylaw chat` asks.", Untrusted.DEFAULT
    )
    base_url: str | None = setting(None, ADDRESS, "The server of the model.", Untrusted.DEFAULT)
