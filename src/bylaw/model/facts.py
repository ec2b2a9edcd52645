"""Facts: values that the runtime gathered and stamped on an event, typed by event kind.

An absent field was not gathered or is not available: reading it is a guard error. Null is an
answer: a null `phase` means that no phase is set, a null entry means that the entry does not exist.
"""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from bylaw.model.values import JSON, Count
from bylaw.model.vocabulary import ApprovalState, EntryStatus, FileStatus, PolicyMode

Phase = Annotated[int, Meta(ge=0, le=4)]


class Principal(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
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
    """The work tree compared with each baseline that was requested."""

    base: ChangeSet | UnsetType = UNSET
    default_tip: ChangeSet | UnsetType = UNSET
    prompt: ChangeSet | UnsetType = UNSET


class Entry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An entry of the policy queue.

    `shown` is the number of stops that were blocked with it. `result` is the output of its command
    if the command failed. `interrupted` is set if the process that ran the command died. The other
    two are for the second round of a stop. `tried_now` is set if the first round ran the command,
    or tried to: then `result` may say why it could not run. `stood_before` is set if the entry was
    closed on the contents that its files had before commands changed them.
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
    """Facts that every kind of event can carry."""

    token_budget: Count | UnsetType = UNSET
    context_window: Count | UnsetType = UNSET
    user: Principal | UnsetType = UNSET
    project: Principal | UnsetType = UNSET
    scripts: dict[str, ScriptResult] | UnsetType = UNSET
    disabled: tuple[str, ...] | UnsetType = UNSET
    # Facts that were requested but are not available, as `name:key`.
    unknown: tuple[str, ...] = ()


class ProtectedFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file that an agent must not change, and why."""

    path: str
    why: str


class ToolFacts(Facts, frozen=True, kw_only=True):
    """Facts about a tool call: protected files that it would change, and files that were changed.

    After a call, `changed` covers the time while it ran; before a call, the time since the previous
    one. `waits` is a program that would wait for typed input, in a client whose hooks do not report
    that input.
    """

    protected: tuple[ProtectedFile, ...] = ()
    changed: tuple[ProtectedFile, ...] = ()
    waits: str = ""


class WorkFacts(Facts, frozen=True, kw_only=True):
    """Facts for file policies on `prompt`, `message` and `agent.stop`.

    `withheld` is why the output of the turn should not have been released, if the client had
    already shown it. `changed` are protected files that were changed since the last call.
    `unjudged` is why not all file changes were checked.
    """

    changes: Changes | UnsetType = UNSET
    entries: dict[str, Entry | None] | UnsetType = UNSET
    withheld: str = ""
    changed: tuple[ProtectedFile, ...] = ()
    unjudged: str = ""


class LawFacts(Facts, frozen=True, kw_only=True):
    """Facts for RULE_DSL on `file`, `bus` and `approval`.

    `outside` are paths of the event that really are outside the root. With `literal`, the paths of
    a file event are the exact names on this system: a backslash is not a separator, and a control
    character is an ordinary character. For a message: `unreadable` is why its file contains no
    message, `duplicate` is what happened to an earlier message with the same id, and `withdrawn` is
    set if the message that it asks about is gone.
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
