"""What the runtime found out about the world and stamped on an event, typed per kind.

A field that is absent was not gathered or cannot be had: reading it is a guard error. Null is
an answer: `phase` null is known to be none, an entry that is null is known not to exist.
"""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from bylaw.model.values import JSON, Count
from bylaw.model.vocabulary import ApprovalState, EntryStatus, FileStatus, PolicyMode

Phase = Annotated[int, Meta(ge=0, le=4)]


class Party(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A user or a project."""

    id: str
    settings: dict[str, JSON] = {}


class ScriptResult(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a script ended: with a value, with an error, or killed."""

    value: JSON | UnsetType = UNSET
    error: str | UnsetType = UNSET
    killed: bool | UnsetType = UNSET

    def __post_init__(self) -> None:
        given = [f for f in (self.value, self.error, self.killed) if f is not UNSET]
        if len(given) != 1:
            raise ValueError("exactly one of `value`, `error`, `killed` must be there")


class ChangedFile(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """One file that differs from a baseline."""

    path: str
    status: FileStatus
    old_path: str = ""
    digest: str = ""


class ChangeSet(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All files that differ from one baseline."""

    ref: str
    files: tuple[ChangedFile, ...]


class Changes(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The work tree against each baseline that somebody asked for."""

    base: ChangeSet | UnsetType = UNSET
    default_tip: ChangeSet | UnsetType = UNSET
    prompt: ChangeSet | UnsetType = UNSET


class Entry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An entry of the policy queue.

    `shown` says how often a stop was blocked with it, `result` what its command said when it
    failed, `interrupted` that the process died which ran it. In the second round of a stop,
    `tried_now` says that the first one ran its command, where `result` may say why that could not
    be done, and `stood_before` that it was closed on what its files held before commands changed
    them.
    """

    policy: str
    status: EntryStatus
    digest: str = ""
    shown: Count = 0
    result: str = ""
    interrupted: bool = False
    tried_now: bool = False
    stood_before: bool = False


class Approval(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An approval found outside the bus."""

    id: str
    authority: str
    category: str = ""
    state: ApprovalState
    digest: str = ""


class Facts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What every kind of event can carry."""

    token_budget: Count | UnsetType = UNSET
    context_window: Count | UnsetType = UNSET
    user: Party | UnsetType = UNSET
    project: Party | UnsetType = UNSET
    scripts: dict[str, ScriptResult] | UnsetType = UNSET
    disabled: tuple[str, ...] | UnsetType = UNSET
    # Needs that were asked and cannot be had, as `name:key`.
    unknown: tuple[str, ...] = ()


class Protected(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file that an agent must not change, and why."""

    path: str
    why: str


class ToolFacts(Facts, frozen=True, kw_only=True):
    """What is known of a call: which protected files it would change, and which were changed.

    After a call, that was while it ran; before one, since the call before it. `waits` is a program
    that would wait for what is typed, where no hook tells of that.
    """

    protected: tuple[Protected, ...] = ()
    changed: tuple[Protected, ...] = ()
    waits: str = ""


class WorkFacts(Facts, frozen=True, kw_only=True):
    """What file policies read on `prompt`, `message` and `agent.stop`.

    `withheld` is why the output of the turn should not have been released, where the client had
    shown it before anybody was asked; `changed` are protected files that were changed since the
    last call, `unjudged` is why not all changes of files were judged.
    """

    changes: Changes | UnsetType = UNSET
    entries: dict[str, Entry | None] | UnsetType = UNSET
    withheld: str = ""
    changed: tuple[Protected, ...] = ()
    unjudged: str = ""


class LawFacts(Facts, frozen=True, kw_only=True):
    """What RULE_DSL reads on `file`, `bus` and `approval`.

    `outside` are paths of the event that really lie outside of the root. `literal` says that the
    paths of a file are as it is called on this system: there a backslash parts nothing, and a
    control character is one like any other. Of a message:
    `unreadable` is why its file holds none, `duplicate` what became of an earlier one with the
    same id, `withdrawn` whether the message that it asks about is gone.
    """

    approvals: tuple[Approval, ...] | UnsetType = UNSET
    phase: Phase | UnsetType | None = UNSET
    allowed_roots: tuple[str, ...] | UnsetType = UNSET
    policy_mode: PolicyMode | UnsetType = UNSET
    outside: tuple[str, ...] = ()
    literal: bool = False
    unreadable: str = ""
    duplicate: str = ""
    withdrawn: bool = False
