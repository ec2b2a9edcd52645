"""The seam of the languages: what a language brings to be loaded, checked and run.

A language is a module that has the names of `Dialect`. It turns texts into rules and does
nothing else; what a broken file means, which files there are and in which order they are read
is the same for all languages and stands outside of them.

What a language is (`__init__.py`, with its `names.py`) stands apart from what loads it
(`loading.py`) and from what it can start (`starting.py`), which are imported where they are called:
every hook of a coding agent is a process, and imports are most of what it costs.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from msgspec import Struct, field
from msgspec.structs import replace

from bylaw.model.errors import BylawError
from bylaw.model.procedure import Flow, Group, Procedure, SortKey
from bylaw.model.rule import Judgement, Limits, Origin, Rule, Trigger
from bylaw.model.uid import built_in_uid, dialect_of
from bylaw.model.visible import clipped

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bylaw.model.decision import Match
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.procedure import Book
    from bylaw.model.rule import View
    from bylaw.model.source import SourceFile
    from bylaw.model.verdict import Verdict
    from bylaw.model.vocabulary import Kind


# Before every rank that a language gives to its own rules.
FIRST = -(2**31)
_DOES_NOT_LOAD = "does-not-load"
MAX_HEADLINE = 300  # characters of a finding in a reason


class Visit(IntEnum):
    """The order in which the groups of all languages are visited; it never changes a verdict."""

    HOOKS = 0
    CONTEXT_COMMANDS = 1
    CONTEXT_CHECKS = 2
    CHATMD_POLICY = 3
    LAW = 4
    CHATMD_RULES = 5
    TOML_RULES = 6
    FILE_POLICIES = 7


class Beside(Protocol):
    """The files below the folder of a rule file; whoever loads rules brings it.

    What was read belongs to the digest of the book, so a file that rules depend on is read at
    every load, also if the text that names it is `known`.
    """

    @property
    def texts(self) -> Mapping[str, str]:
        """What was read so far, by path."""

    def read(self, path: str) -> str:
        """The text of a file, by its path from that folder; BesideError says why not."""


class BesideError(BylawError):
    """A file that a rule names is not there, leaves the folder or cannot be read."""


class NothingBeside:
    """A rule file that comes without a folder."""

    texts: Mapping[str, str] = MappingProxyType({})

    def read(self, path: str) -> str:
        """Nothing is there."""
        raise BesideError(f"`{path}` is not there")


class RuleFile(Struct, frozen=True):
    """A text of a language, named from the root, with the digest of its bytes.

    `known` is what the language noted when it last found this very text faultless. It knows of
    nothing beside the text: what depends on the path or on other files is checked anew.
    """

    source: SourceFile
    digest: str
    beside: Beside = field(default_factory=NothingBeside)
    known: bytes = b""

    @property
    def path(self) -> str:
        """Its name in uids, reasons and records."""
        return self.source.path


class Loaded(Struct, frozen=True):
    """What the files of one book give.

    The groups are there even if no file has rules. A file with an error is broken: it is
    replaced as `when_broken` says, and none of its rules is kept. `notes` are for the next time
    that the same text is loaded, by the digest of the file, see `RuleFile.known`.
    """

    groups: tuple[Group, ...]
    diagnostics: tuple[Diagnostic, ...] = ()
    notes: Mapping[str, bytes] = field(default_factory=dict)


class WhenBroken(Struct, frozen=True, kw_only=True):
    """What a file that does not load does instead: its verdict on these kinds of events.

    A language that can gate denies whatever the file could have denied; others warn, once a
    session. `group` is the one in which the file's rules would have stood.
    """

    group: str
    kinds: tuple[Kind, ...]
    verdict: Verdict
    once: bool = False


class Startable(StrEnum):
    """What a book can start."""

    PROGRAM = "program"
    TOOL = "tool"
    AGENT = "agent"
    SERVER = "server"


class Start(Struct, frozen=True, order=True):
    """One thing that a rule can start: a command line, the name of a tool, an address.

    `script` is the program of a command line that is a file of the repository, by its path.
    """

    what: Startable
    name: str
    uid: str
    script: str = ""


@runtime_checkable
class Dialect(Protocol):
    """A language. Modules implement it by having these names."""

    name: str
    """As it stands in uids and in `dialect = …`."""
    spec: str
    """Which text defines it, with version and status, for the listing of languages."""
    suffixes: tuple[str, ...]
    """How its file names end, such as `.toml`."""
    common_ending: bool
    """Whether texts that are no rules end so, too: then a file in a folder is looked at first."""
    one_book_per_file: bool
    """Whether each file is a book of its own; else all files in force are one book."""
    when_broken: WhenBroken

    def detect(self, source: SourceFile) -> bool:
        """Whether this is its text; asked when several languages share the ending."""

    def load(self, files: Sequence[RuleFile]) -> Loaded:
        """The rules of one book, and what is wrong; one bad file spoils no other."""

    def rule_text(self, source: SourceFile) -> str:
        """The part of a text that rules depend on, at its place: what digests and records hold.

        Given that part, it gives it back.
        """

    def in_own_words(self, finding: Diagnostic) -> Diagnostic:
        """A finding about a text that could not even be read, with the language's own code."""

    def refuses_set(self, source: SourceFile) -> bool:
        """Whether nothing may run without this file, which does not load."""

    def starts(self, book: Book, files: Sequence[RuleFile]) -> Sequence[Start]:
        """Everything that the book of these files can start, for the person who must trust it."""


class FixedReason(Struct, frozen=True):
    """A reason that was known at load."""

    text: str

    def make(self, view: View, match: Match) -> str:  # noqa: ARG002 - the names of ReasonMaker
        """The text."""
        return self.text


def stand_in(dialect: Dialect, file: RuleFile, errors: Sequence[Diagnostic]) -> Rule:
    """The built-in rule that replaces a file which does not load."""
    first = errors[0]
    line = first.source.position(first.span.start).line
    return stand_in_at(dialect, file, line, _why(file, line, errors))


def stand_in_at(dialect: Dialect, file: RuleFile, line: int, why: str) -> Rule:
    """The same, of a file of which line and reason are known."""
    what = dialect.when_broken
    rule_id = f"{_DOES_NOT_LOAD}:{file.path}"
    return Rule(
        uid=built_in_uid(dialect.name, rule_id),
        id=rule_id,
        origin=Origin(file.path, line, 1, file.digest),
        on=Trigger(kinds=what.kinds),
        limits=Limits(once=what.once),
        judgement=Judgement(what.verdict, FixedReason(why)),
        rank=FIRST,
        free=True,
        core=True,
    )


def is_stand_in(uid: str) -> bool:
    """Whether a rule is there in place of a file which does not load."""
    return uid.startswith(built_in_uid(dialect_of(uid), f"{_DOES_NOT_LOAD}:"))


def _why(file: RuleFile, line: int, errors: Sequence[Diagnostic]) -> str:
    place = f"line {line}: " if file.source.text else ""
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    way_out = f"mend or remove the file; `bylaw check {file.path}` shows what is wrong"
    said = clipped(errors[0].headline, MAX_HEADLINE)
    return f"`{file.path}` does not load: {place}{said}{more}; {way_out}"


def close(groups: Iterable[Group], name: str, rules: Sequence[Rule]) -> tuple[Group, ...]:
    """The groups with stand-ins put before all rules of the group called `name`.

    Where the first match counts, a stand-in always is that match: the group is closed.
    """
    closed = tuple(_closed(group, rules) if group.name == name else group for group in groups)
    if rules and name not in {group.name for group in closed}:
        raise BylawError(f"a language has no group `{name}` in which a broken file is replaced")
    return closed


def _closed(group: Group, rules: Sequence[Rule]) -> Group:
    if not rules:
        return group
    if group.procedure.flow is Flow.FIRST:
        # A limit would open the group again.
        rules = [replace(rule, limits=Limits()) for rule in rules]
    return replace(group, procedure=_ranked(group.procedure), rules=(*rules, *group.rules))


def _ranked(procedure: Procedure) -> Procedure:
    # Where a language does not rank, all its rules have rank 0: their order stays.
    if procedure.order[:1] == (SortKey.RANK,):
        return procedure
    return replace(procedure, order=(SortKey.RANK, *procedure.order))
