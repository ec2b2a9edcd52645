"""The tables of `bylaw.toml`, one class each: keys, defaults, meanings.

The reader checks against these tables, the documentation shows them, and `restrained` uses them.
"""

from __future__ import annotations

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
    Patterns,
    Texts,
    Whole,
)
from bylaw.runtime.settings.key import Key, Table, Untrusted

if TYPE_CHECKING:
    import re

DAY_S = 24 * 60 * 60
MAX_TOKENS = 1_000_000_000


class Durability(StrEnum):
    """What a written record survives."""

    PROCESS = "process"
    POWER = "power"


class OnFailure(StrEnum):
    """What a gate does when Bylaw itself fails."""

    CLOSED = "closed"
    OPEN = "open"


class GeneralSettings(Table, frozen=True):
    """Keys before the first table."""

    discover: bool = True

    keys = (
        Key(
            "discover",
            Flag(),
            "Find rule files by convention. `false`: use only those that a `[[book]]` names.",
        ),
    )


class BookSettings(Table, frozen=True):
    """One book; the table may be repeated."""

    path: str = ""
    dialect: str = ""

    keys = (
        Key("path", NAME, "A rule file, or a folder of rule files, below the root. Required."),
        Key("dialect", NAME, "Its language, if name and text do not show it."),
    )


class JournalSettings(Table, frozen=True):
    """The journal of events and decisions."""

    path: str = ".bylaw/state/journal.db"
    keep_days: int | None = None
    redact: tuple[re.Pattern[str], ...] = ()
    durability: Durability = Durability.PROCESS

    keys = (
        Key("path", FILE, "The file of the journal."),
        Key("keep_days", Whole(1, 36_500), "Days until payloads are erased. None: keep them."),
        Key(
            "redact",
            Patterns(),
            "Text that matches is removed before anything is stored. Names of sessions, calls and "
            "rules, and the texts of rule files, do not change. Repeats need a limit, such as "
            "`{1,100}`, except the last one of a pattern.",
        ),
        Key(
            "durability",
            Choice(Durability),
            "What a record survives: a crash of the process, or a power failure as well.",
        ),
    )


class CommandSettings(Table, frozen=True):
    """Programs that rules start."""

    roots: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    timeout_s: int = 60

    keys = (
        Key(
            "roots",
            Texts(PATH),
            "Folders in which commands of RULE_DSL rules may run. Empty: they may not run. "
            "Commands of file policies run at the root of the repository.",
            Untrusted.DEFAULT,
        ),
        Key(
            "allow",
            Texts(PROGRAM),
            "The only programs that may start. Empty: those that the language allows.",
        ),
        Key("env", Texts(VARIABLE), "More variables that programs may see.", Untrusted.DEFAULT),
        Key(
            "timeout_s",
            Whole(1, DAY_S),
            "Seconds after which a program is stopped.",
            Untrusted.SMALLER,
        ),
    )


class LawSettings(Table, frozen=True):
    """RULE_DSL and its bus."""

    policy_mode: PolicyMode = PolicyMode.STRICT
    bus: str = "runtime/bus"

    keys = (
        Key(
            "policy_mode",
            Choice(PolicyMode),
            "How messages are checked. `relaxed`: an unknown key, another phase, or a missing "
            "title or notes is only recorded as a warning.",
            Untrusted.DEFAULT,
        ),
        Key("bus", PATH, "The folder of the bus.", Untrusted.DEFAULT),
    )


class StopSettings(Table, frozen=True):
    """What happens when an agent wants to stop."""

    max_blocks: int = 3

    keys = (
        Key(
            "max_blocks",
            Whole(1, 100),
            "How many times the same violation may block a stop. After that, the stop is allowed "
            "with a warning.",
            Untrusted.LARGER,
        ),
    )


class HooksSettings(Table, frozen=True):
    """Hooks of coding agents."""

    on_failure: OnFailure = OnFailure.CLOSED
    subagents: bool = True

    keys = (
        Key(
            "on_failure",
            Choice(OnFailure),
            "What a gate does when Bylaw itself fails. An event that is not a gate is allowed, and "
            "the failure is reported.",
            Untrusted.DEFAULT,
        ),
        Key(
            "subagents",
            Flag(),
            "Apply rules to subagents as well. Protection applies to them in any case.",
            Untrusted.DEFAULT,
        ),
    )


class ProtectSettings(Table, frozen=True):
    """Files that an agent must not change."""

    enabled: bool = True
    paths: tuple[str, ...] = ()

    keys = (
        Key(
            "enabled",
            Flag(),
            "Protect rule files, `bylaw.toml`, the journal and the configuration of hooks.",
            Untrusted.DEFAULT,
        ),
        Key("paths", Texts(PATH), "More files and folders, with everything in them."),
    )


class ModelSettings(Table, frozen=True):
    """The model behind an agent."""

    token_budget: int | None = None
    context_window: int | None = None
    default: str | None = None
    base_url: str | None = None

    keys = (
        Key(
            "token_budget",
            Whole(1, MAX_TOKENS),
            "Tokens that a session may use. Rules can read the share used so far.",
        ),
        Key(
            "context_window",
            Whole(1, MAX_TOKENS),
            "Size of the model's context in tokens. Rules can read it.",
        ),
        Key("default", NAME, "The model that `bylaw chat` uses.", Untrusted.DEFAULT),
        Key("base_url", ADDRESS, "The server of the model.", Untrusted.DEFAULT),
    )
