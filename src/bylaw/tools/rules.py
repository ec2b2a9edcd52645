"""List, show, enable and disable rules: the work behind `bylaw rules`."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from bylaw.model.diagnostic import has_errors
from bylaw.model.errors import LoadError, RuleError
from bylaw.model.uid import uid_of
from bylaw.runtime.known_agents import refuse_agents
from bylaw.runtime.loading import load_paths, load_root
from bylaw.runtime.named_rules import find_rule, named_rules
from bylaw.runtime.root import find_root
from bylaw.runtime.switches import read_switches, switch_off, switch_on
from bylaw.runtime.switching import refuse_switch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.source import SourceFile
    from bylaw.runtime.loading import Library
    from bylaw.runtime.named_rules import NamedRule
    from bylaw.runtime.switches import Switches

    Tell: TypeAlias = Callable[[str], None]


class State(StrEnum):
    """Whether a rule is active, and why not. `gone`: a disabled rule that does not exist."""

    ON = "on"
    CORE = "core"
    OFF_IN_FILE = "off in file"
    SWITCHED_OFF = "switched off"
    GONE = "gone"


class ListedRule(Struct, frozen=True):
    """A rule, and the time at which it was disabled by command, if it was."""

    rule: NamedRule
    since: str | None = None

    @property
    def switched(self) -> bool:
        """Whether the rule is disabled by command. This never applies to a core rule."""
        return self.since is not None and not self.rule.core

    @property
    def state(self) -> State:
        """The first reason that decides whether the rule is active."""
        if self.rule.core:
            return State.CORE
        if not self.rule.enabled:
            return State.OFF_IN_FILE
        return State.SWITCHED_OFF if self.switched else State.ON

    @property
    def is_off(self) -> bool:
        """Whether the rule is disabled, in its file or by command."""
        return self.state in {State.OFF_IN_FILE, State.SWITCHED_OFF}


class BrokenFile(Struct, frozen=True):
    """A file that does not load, and the line of its first error."""

    path: str
    line: int
    dialect: str


class Listing(Struct, frozen=True):
    """Rules by language, file and line. `gone`: uids of disabled rules that do not exist."""

    rules: tuple[ListedRule, ...]
    broken: tuple[BrokenFile, ...]
    gone: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...]

    @property
    def has_errors(self) -> bool:
        """Whether a file has errors."""
        return has_errors(self.diagnostics)


class ShownRule(Struct, frozen=True):
    """A rule with its text from `line` on, and the diagnostics of the list of disabled rules."""

    listed: ListedRule
    line: int
    lines: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...]


class Switched(Struct, frozen=True):
    """Result of enabling or disabling a rule. `changed` is false if it already had that state."""

    uid: str
    id: str
    state: State
    changed: bool


def list_rules(
    paths: Sequence[str], dialect: str = "", *, off: bool = False, tell: Tell | None = None
) -> Listing:
    """List the rules of the given files, or else of the root.

    `dialect` selects one language, `off` selects disabled rules.
    """
    library = load_paths(paths, tell) if paths else load_root(find_root(), tell)
    catalogue = _Catalogue(library)
    return Listing(
        rules=tuple(
            one
            for one in catalogue.listed()
            if dialect in {"", one.rule.dialect} and (one.is_off or not off)
        ),
        broken=tuple(one for one in catalogue.broken() if dialect in {"", one.dialect}),
        # With given files, most disabled rules belong to other files.
        gone=() if paths else tuple(catalogue.gone()),
        diagnostics=catalogue.diagnostics,
    )


def show_rule(name: str, tell: Tell | None = None) -> ShownRule:
    """Return a rule of the root, by id or uid. Raise RuleError if it is not found."""
    catalogue = _Catalogue(load_root(find_root(), tell))
    rule = catalogue.find(name)
    line, lines = written_lines(rule, catalogue.source_of(rule), catalogue.rules.values())
    return ShownRule(catalogue.with_switch(rule), line, lines, catalogue.switches.diagnostics)


def switch_rule(name: str, *, on: bool, tell: Tell | None = None) -> Switched:
    """Enable or disable a rule of the root permanently.

    Raises RuleError or LoadError if that is not possible.
    """
    refuse_agents("a switch")
    catalogue = _Catalogue(load_root(find_root(), tell))
    if catalogue.switches.diagnostics:
        raise LoadError(list(catalogue.switches.diagnostics))
    if on and name not in catalogue.rules and name in catalogue.switches.disabled:
        switch_on(catalogue.root, name)
        return Switched(name, name, State.GONE, changed=True)
    rule = catalogue.find(name)
    refuse_switch(rule, on=on)
    return _enabled(catalogue, rule) if on else _disabled(catalogue, rule)


def _enabled(catalogue: _Catalogue, rule: NamedRule) -> Switched:
    listed = catalogue.with_switch(rule)
    if listed.since is not None:
        switch_on(catalogue.root, rule.uid)
    return Switched(rule.uid, rule.id, ListedRule(rule).state, changed=listed.switched)


def _disabled(catalogue: _Catalogue, rule: NamedRule) -> Switched:
    listed = catalogue.with_switch(rule)
    if not listed.is_off:
        since = datetime.now(UTC).isoformat(timespec="seconds")
        switch_off(catalogue.root, rule.uid, since)
        return Switched(rule.uid, rule.id, State.SWITCHED_OFF, changed=True)
    return Switched(rule.uid, rule.id, listed.state, changed=False)


class _Catalogue:
    """A library with the disabled rules of its root."""

    def __init__(self, library: Library) -> None:
        self._books = library.books
        self.root = library.search.root
        self.rules = named_rules(one.book for one in library.books)
        self.switches: Switches = read_switches(self.root)
        self.diagnostics = (*library.diagnostics, *self.switches.diagnostics)

    def find(self, name: str) -> NamedRule:
        """Like `find_rule`, but hint at files that do not load if the rule is not found."""
        try:
            return find_rule(self.rules, name)
        except RuleError as wrong:
            if not has_errors(self.diagnostics):
                raise
            raise RuleError(f"{wrong}; some files do not load, run `bylaw check`") from None

    def with_switch(self, rule: NamedRule) -> ListedRule:
        return ListedRule(rule, self.switches.disabled.get(rule.uid))

    def listed(self) -> list[ListedRule]:
        def place(one: ListedRule) -> tuple[object, ...]:
            origin = one.rule.origin
            return one.rule.dialect, origin.file, origin.line, origin.column

        return sorted(map(self.with_switch, self.rules.values()), key=place)

    def broken(self) -> Iterator[BrokenFile]:
        for one in self._books:
            for path, rule in one.stand_ins.items():
                yield BrokenFile(path, rule.origin.line, one.book.dialect)

    def gone(self) -> Iterator[str]:
        """Yield disabled uids without a rule, unless the rule may be in a broken file."""
        broken = tuple(uid_of(one.dialect, one.path, "") for one in self.broken())
        for uid in self.switches.disabled:
            if uid not in self.rules and not uid.startswith(broken):
                yield uid

    def source_of(self, rule: NamedRule) -> SourceFile:
        texts = (one.texts.get(rule.origin.file) for one in self._books)
        return next(text.source for text in texts if text is not None)


def written_lines(
    rule: NamedRule, source: SourceFile, rules: Iterable[NamedRule]
) -> tuple[int, tuple[str, ...]]:
    """Return the first line number and the lines of a rule.

    If its language does not know the last line, the rule extends to the next rule. If the file has
    only one rule, the text is the complete file.
    """
    file, line, last = rule.origin.file, rule.origin.line, rule.origin.last_line
    if last:
        return line, tuple(source.line_text(number) for number in range(line, last + 1))
    starts = sorted({one.origin.line for one in rules if one.origin.file == file})
    first = line if len(starts) > 1 else 1
    after = next((start for start in starts if start > line), None)
    lines = [source.line_text(n) for n in range(first, after or source.line_count + 1)]
    while len(lines) > 1 and _is_blank(lines[-1], or_comment=after is not None):
        lines.pop()
    return first, tuple(lines)


def _is_blank(line: str, *, or_comment: bool) -> bool:
    # A comment directly above the next rule probably belongs to that rule.
    return not line.strip() or (or_comment and line.lstrip().startswith("#"))
