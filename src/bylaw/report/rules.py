"""List, show, enable and disable rules (`bylaw rules`), and read, grant and revoke the trust of a
root (`bylaw trust`).

Commands that change something refuse to run if an agent started the process.
"""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from bylaw.hosts.clients.caller import require_person
from bylaw.model.diagnostic import has_errors
from bylaw.model.errors import BylawError, LoadError, RuleError
from bylaw.model.rule import uid_of
from bylaw.runtime.loader import load, load_paths, load_root
from bylaw.runtime.root import find_root, read_configuration
from bylaw.runtime.rule_files import discover
from bylaw.runtime.rules_in_force import check_switch, find_rule, named_rules
from bylaw.runtime.trust import changes_since, check_request, trust_request
from bylaw.store.switches import disable_rule, enable_rule, read_switches
from bylaw.store.trust import read_record, remove_record, save_record
from bylaw.store.user_state import user_state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.source import SourceFile
    from bylaw.runtime.loader import Library
    from bylaw.runtime.rules_in_force import NamedRule
    from bylaw.runtime.trust import Trust, TrustChanges, TrustRequest
    from bylaw.store.switches import Switches

    Tell: TypeAlias = Callable[[str], None]


class RuleState(StrEnum):
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
    def is_disabled_by_command(self) -> bool:
        """Whether the rule is disabled by command. This never applies to a core rule."""
        return self.since is not None and not self.rule.core

    @property
    def state(self) -> RuleState:
        """The first reason that decides whether the rule is active."""
        if self.rule.core:
            return RuleState.CORE
        if not self.rule.enabled:
            return RuleState.OFF_IN_FILE
        return RuleState.SWITCHED_OFF if self.is_disabled_by_command else RuleState.ON

    @property
    def is_off(self) -> bool:
        """Whether the rule is disabled, in its file or by command."""
        return self.state in {RuleState.OFF_IN_FILE, RuleState.SWITCHED_OFF}


class BrokenFile(Struct, frozen=True):
    """A file that does not load, and the line of its first error."""

    path: str
    line: int
    dialect: str


class RuleList(Struct, frozen=True):
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


class SwitchResult(Struct, frozen=True):
    """Result of enabling or disabling a rule. `changed` is false if it already had that state."""

    uid: str
    id: str
    state: RuleState
    changed: bool


def list_rules(
    paths: Sequence[str], dialect: str = "", *, off: bool = False, tell: Tell | None = None
) -> RuleList:
    """List the rules of the given files, or else of the root.

    `dialect` selects one language, `off` selects disabled rules.
    """
    library = load_paths(paths, tell) if paths else load_root(find_root(), tell)
    catalogue = _Catalogue(library)
    return RuleList(
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
    line, lines = rule_lines(rule, catalogue.source_of(rule), catalogue.rules.values())
    return ShownRule(catalogue.with_switch(rule), line, lines, catalogue.switches.diagnostics)


def switch_rule(name: str, *, on: bool, tell: Tell | None = None) -> SwitchResult:
    """Enable or disable a rule of the root permanently.

    Raises RuleError or LoadError if that is not possible.
    """
    require_person("a switch")
    catalogue = _Catalogue(load_root(find_root(), tell))
    if catalogue.switches.diagnostics:
        raise LoadError(list(catalogue.switches.diagnostics))
    if on and name not in catalogue.rules and name in catalogue.switches.disabled:
        enable_rule(catalogue.root, name)
        return SwitchResult(name, name, RuleState.GONE, changed=True)
    rule = catalogue.find(name)
    check_switch(rule, on=on)
    return _enable(catalogue, rule) if on else _disable(catalogue, rule)


def _enable(catalogue: _Catalogue, rule: NamedRule) -> SwitchResult:
    listed = catalogue.with_switch(rule)
    if listed.since is not None:
        enable_rule(catalogue.root, rule.uid)
    return SwitchResult(
        rule.uid, rule.id, ListedRule(rule).state, changed=listed.is_disabled_by_command
    )


def _disable(catalogue: _Catalogue, rule: NamedRule) -> SwitchResult:
    listed = catalogue.with_switch(rule)
    if not listed.is_off:
        since = datetime.now(UTC).isoformat(timespec="seconds")
        disable_rule(catalogue.root, rule.uid, since)
        return SwitchResult(rule.uid, rule.id, RuleState.SWITCHED_OFF, changed=True)
    return SwitchResult(rule.uid, rule.id, listed.state, changed=False)


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


def rule_lines(
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


class TrustReport(Struct, frozen=True):
    """What a root asks for, whether it is trusted, and the changes since it was trusted."""

    root: str
    request: TrustRequest
    trust: Trust
    since: str
    changes: TrustChanges | None
    diagnostics: tuple[Diagnostic, ...]


def read_trust(tell: Callable[[str], None] | None = None) -> TrustReport:
    """Load the books of the root. Raise LoadError if the list of books is not known."""
    root = find_root()
    configuration = read_configuration(root)
    library = load(discover(root, configuration), tell)
    if library.refusals:
        raise LoadError(list(library.refusals))
    request = trust_request(library, configuration)
    return _trust_report(root, request, library.diagnostics)


def check_grant(report: TrustReport) -> None:
    """Raise BylawError if an agent runs this process, or if trust cannot be stored."""
    require_person("trust")
    user_state(report.root)


def grant(report: TrustReport) -> TrustReport:
    """Store that a person trusts the request of the report. Raise BylawError on failure."""
    check_grant(report)
    at = datetime.now(UTC).isoformat(timespec="seconds")
    save_record(report.root, report.request.granted(report.root, at))
    return _trust_report(report.root, report.request, report.diagnostics)


def revoke() -> bool:
    """Remove the trust of the root. Return False if there was none."""
    return remove_record(find_root())


def _trust_report(
    root: str, request: TrustRequest, diagnostics: tuple[Diagnostic, ...]
) -> TrustReport:
    try:
        record = read_record(root)
    except BylawError:
        record = None  # `judged` reports the reason
    changes = None if record is None else changes_since(record, request)
    since = "" if record is None else record.at
    return TrustReport(root, request, check_request(root, request), since, changes, diagnostics)
