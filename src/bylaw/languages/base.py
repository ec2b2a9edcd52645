"""The interface of a rule language: what Bylaw needs from it to load, check and run its rules.

A language is a module that defines the names of `Language`. It turns texts into rules and does
nothing else. Finding files, their order and the effect of a broken file are the same for all
languages, so other modules do that. Also here: guard and reason of built-in rules.

The `__init__.py` of a language describes it and imports its other modules inside functions: each
hook of a coding agent is a process, and imports take most of its time.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from msgspec import Struct, field
from msgspec.structs import replace

from bylaw.model.decision import Match
from bylaw.model.display import clip_text
from bylaw.model.errors import BylawError
from bylaw.model.procedure import Flow, Group, Procedure, SortKey
from bylaw.model.rule import Limits, Origin, Rule, RuleVerdict, Trigger, built_in_uid, dialect_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.procedure import Book
    from bylaw.model.rule import View
    from bylaw.model.source import SourceFile
    from bylaw.model.vocabulary import Kind, Verdict

# Lower than any rank that a language gives to its own rules.
FIRST_RANK = -(2**31)
_BROKEN_FILE_ID = "does-not-load"
MAX_HEADLINE = 300  # characters of a diagnostic in a reason


class VisitOrder(IntEnum):
    """The order in which the groups of all languages are visited. It never changes a verdict."""

    HOOKS = 0
    CONTEXT_COMMANDS = 1
    CONTEXT_CHECKS = 2
    CHATMD_POLICY = 3
    LAW = 4
    CHATMD_RULES = 5
    TOML_RULES = 6
    FILE_POLICIES = 7


class SiblingFiles(Protocol):
    """The files below the folder of a rule file. The code that loads rules provides it.

    The files that were read are part of the digest of the book. So a language reads every file
    that rules depend on at every load, even if the text of the rule file is `known`.
    """

    @property
    def texts(self) -> Mapping[str, str]:
        """The texts that were read so far, by path."""

    def read(self, path: str) -> str:
        """Return the text of a file, by its path from that folder. Raises `SiblingFileError`."""


class SiblingFileError(BylawError):
    """A file that a rule names does not exist, is outside of the folder or cannot be read."""


class NoSiblingFiles:
    """Replaces the files of a rule file that has no folder. No file exists."""

    texts: Mapping[str, str] = MappingProxyType({})

    def read(self, path: str) -> str:
        """Raise `SiblingFileError`."""
        raise SiblingFileError(f"`{path}` does not exist")


class RuleFile(Struct, frozen=True):
    """The text of one rule file, with its path from the root and its digest.

    `known` is the note that the language made when it last loaded the same text without findings,
    see `LoadResult.notes`. It depends on the text alone: the language checks again what depends on
    the path or on other files.
    """

    source: SourceFile
    digest: str
    beside: SiblingFiles = field(default_factory=NoSiblingFiles)
    known: bytes = b""

    @property
    def path(self) -> str:
        """The path as uids, reasons and records name it."""
        return self.source.path


class LoadResult(Struct, frozen=True):
    """The result of loading the files of one book.

    All groups of the language exist, even if no file has rules. A file with an error is broken:
    all its rules are dropped, and one rule replaces them as `when_broken` says. `notes` maps the
    digest of a file to bytes that the language receives when it next loads the same text, see
    `RuleFile.known`.
    """

    groups: tuple[Group, ...]
    diagnostics: tuple[Diagnostic, ...] = ()
    notes: Mapping[str, bytes] = field(default_factory=dict)


class WhenBroken(Struct, frozen=True, kw_only=True):
    """What replaces a file that does not load: a verdict on these kinds of events.

    A language that can gate denies every event that the file could have denied. Other languages
    warn, once per session. `group` is the group to which the rules of the file would belong.
    """

    group: str
    kinds: tuple[Kind, ...]
    verdict: Verdict
    once: bool = False


class LaunchKind(StrEnum):
    """A kind of thing that a book can start."""

    PROGRAM = "program"
    TOOL = "tool"
    AGENT = "agent"
    SERVER = "server"


class Launch(Struct, frozen=True, order=True):
    """One thing that a rule can start. `name` is a command line, a tool name or an address.

    `script` is the path of the program if a command line runs a file of the repository.
    """

    what: LaunchKind
    name: str
    uid: str
    script: str = ""


@runtime_checkable
class Language(Protocol):
    """A rule language. A module implements it by defining these names."""

    name: str
    """The name in uids and in `dialect = …`."""
    spec: str
    """The document that defines the language, with version and status, for listings."""
    suffixes: tuple[str, ...]
    """The suffixes of its files, such as `.toml`."""
    common_ending: bool
    """True if other files share the suffixes. `detect` then decides about files in a folder."""
    one_book_per_file: bool
    """True if each file is a book of its own. False if all active files form one book."""
    when_broken: WhenBroken

    def detect(self, source: SourceFile) -> bool:
        """Return whether a text is in this language. Called only if the suffix does not decide."""

    def load(self, files: Sequence[RuleFile]) -> LoadResult:
        """Load the rules of one book. An error in one file must not affect the other files."""

    def rule_text(self, source: SourceFile) -> str:
        """Return the part of a text that rules depend on, at its place. Digests and records use it.

        Applied to its own result, it returns that result.
        """

    def in_own_words(self, finding: Diagnostic) -> Diagnostic:
        """Return a finding about an unreadable text, with the language's own code."""

    def refuses_set(self, source: SourceFile) -> bool:
        """Return whether no rules may load because this broken file is required."""

    def starts(self, book: Book, files: Sequence[RuleFile]) -> Sequence[Launch]:
        """List everything that the book of these files can start. A person must trust it first."""


class FixedReason(Struct, frozen=True):
    """A reason that is known when the rules are loaded."""

    text: str

    def make(self, view: View, match: Match) -> str:  # noqa: ARG002 - names of ReasonMaker
        """Return the text."""
        return self.text


def stand_in(dialect: Language, file: RuleFile, errors: Sequence[Diagnostic]) -> Rule:
    """Return the built-in rule that replaces a file that does not load."""
    first = errors[0]
    line = first.source.position(first.span.start).line
    return stand_in_at(dialect, file, line, _load_failure_text(file, line, errors))


def stand_in_at(dialect: Language, file: RuleFile, line: int, why: str) -> Rule:
    """Same as `stand_in`, for a known line and reason."""
    what = dialect.when_broken
    rule_id = f"{_BROKEN_FILE_ID}:{file.path}"
    return Rule(
        uid=built_in_uid(dialect.name, rule_id),
        id=rule_id,
        origin=Origin(file.path, line, 1, file.digest),
        on=Trigger(kinds=what.kinds),
        limits=Limits(once=what.once),
        judgement=RuleVerdict(what.verdict, FixedReason(why)),
        rank=FIRST_RANK,
        free=True,
        core=True,
    )


def is_stand_in(uid: str) -> bool:
    """Return whether a rule replaces a file that does not load."""
    return uid.startswith(built_in_uid(dialect_of(uid), f"{_BROKEN_FILE_ID}:"))


def _load_failure_text(file: RuleFile, line: int, errors: Sequence[Diagnostic]) -> str:
    place = f"line {line}: " if file.source.text else ""
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    way_out = f"fix or remove the file; `bylaw check {file.path}` shows all errors"
    said = clip_text(errors[0].headline, MAX_HEADLINE)
    return f"`{file.path}` does not load: {place}{said}{more}; {way_out}"


def add_stand_ins(groups: Iterable[Group], name: str, rules: Sequence[Rule]) -> tuple[Group, ...]:
    """Insert stand-ins before all rules of the group `name`.

    In a group where the first match decides, a stand-in always matches first, so no other rule of
    the group is used.
    """
    closed = tuple(
        _with_stand_ins(group, rules) if group.name == name else group for group in groups
    )
    if rules and name not in {group.name for group in closed}:
        raise BylawError(f"the language has no group `{name}`, which it names in `when_broken`")
    return closed


def _with_stand_ins(group: Group, rules: Sequence[Rule]) -> Group:
    if not rules:
        return group
    if group.procedure.flow is Flow.FIRST:
        # With a limit a stand-in would stop matching, and the rules after it would decide.
        rules = [replace(rule, limits=Limits()) for rule in rules]
    return replace(group, procedure=_sorted_by_rank(group.procedure), rules=(*rules, *group.rules))


def _sorted_by_rank(procedure: Procedure) -> Procedure:
    # A language that does not rank gives all rules rank 0, so their order stays the same.
    if procedure.order[:1] == (SortKey.RANK,):
        return procedure
    return replace(procedure, order=(SortKey.RANK, *procedure.order))


_TEXT = "text"


class BuiltInCheck(Struct, frozen=True):
    """A guard that matches if `ask` returns a text that is not empty: the reason."""

    ask: Callable[[View], str]

    def test(self, view: View) -> Match | None:
        """Return a match with the text, or None."""
        text = self.ask(view)
        return Match({_TEXT: text}) if text else None


class AnswerReason(Struct, frozen=True):
    """The text of a `BuiltInCheck` as the reason."""

    def make(self, view: View, match: Match) -> str:  # noqa: ARG002 - names of ReasonMaker
        """Return the text."""
        return answer_text(match)


def answer_text(match: Match) -> str:
    """Return the text in a match of a `BuiltInCheck`."""
    return str(match.values[_TEXT])
