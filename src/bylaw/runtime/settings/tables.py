"""The tables of `bylaw.toml`, one class each: keys, defaults, meanings.

What is said here is what the reader checks, the documentation shows and restraint follows.
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
    """What a record survives once it is written."""

    PROCESS = "process"
    POWER = "power"


class OnFailure(StrEnum):
    """What a gate does when Bylaw itself fails."""

    CLOSED = "closed"
    OPEN = "open"


class GeneralSettings(Table, frozen=True):
    """What stands before the first table."""

    discover: bool = True

    keys = (
        Key(
            "discover",
            Flag(),
            "Find books by convention; `false`: only those that a `[[book]]` names.",
        ),
    )


class BookSettings(Table, frozen=True):
    """One book; the table may be repeated."""

    path: str = ""
    dialect: str = ""

    keys = (
        Key("path", NAME, "A rule file, or a folder of rule files, below the root. Needed."),
        Key("dialect", NAME, "Its language, where the name and the text do not tell."),
    )


class JournalSettings(Table, frozen=True):
    """The record of events and decisions."""

    path: str = ".bylaw/state/journal.db"
    keep_days: int | None = None
    redact: tuple[re.Pattern[str], ...] = ()
    durability: Durability = Durability.PROCESS

    keys = (
        Key("path", FILE, "Where it lies."),
        Key("keep_days", Whole(1, 36_500), "Erase payloads that are older; none: keep them."),
        Key(
            "redact",
            Patterns(),
            "What matches is taken out of every text before it is stored; names of sessions, calls "
            "and rules, and the texts of rule files, stay as they are. Repeats need a bound, such "
            "as `{1,100}`, but for the last one of a pattern.",
        ),
        Key(
            "durability",
            Choice(Durability),
            "What a record survives: a crash of the process, or also that the power fails.",
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
            "Folders in which a command of a RULE_DSL rule may run; none: it cannot run any. "
            "Commands of file policies run at the root of the repository.",
            Untrusted.DEFAULT,
        ),
        Key(
            "allow",
            Texts(PROGRAM),
            "No other program is started; none: what the language allows.",
        ),
        Key("env", Texts(VARIABLE), "Further variables that programs may see.", Untrusted.DEFAULT),
        Key(
            "timeout_s",
            Whole(1, DAY_S),
            "Seconds after which a program is ended.",
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
            "How messages are read; `relaxed` records as a warning that a message has an unknown "
            "key, another phase, or no title or notes.",
            Untrusted.DEFAULT,
        ),
        Key("bus", PATH, "The folder of the bus.", Untrusted.DEFAULT),
    )


class StopSettings(Table, frozen=True):
    """When an agent wants to hand control back."""

    max_blocks: int = 3

    keys = (
        Key(
            "max_blocks",
            Whole(1, 100),
            "So often an unchanged violation blocks a stop; then it is let through with a warning "
            "to the person.",
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
            "What a gate does when Bylaw itself fails. Whatever is no gate stays open, and the "
            "failure is reported.",
            Untrusted.DEFAULT,
        ),
        Key(
            "subagents",
            Flag(),
            "Rules hold for subagents too; protection does in any case.",
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
        Key("paths", Texts(PATH), "Further files and folders, with all that is in them."),
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
            "Tokens that a session may use; rules can read how far it is.",
        ),
        Key(
            "context_window",
            Whole(1, MAX_TOKENS),
            "Tokens that the model can see at once; rules can read it.",
        ),
        Key("default", NAME, "The model that `bylaw chat` asks.", Untrusted.DEFAULT),
        Key("base_url", ADDRESS, "The server of the model.", Untrusted.DEFAULT),
    )
