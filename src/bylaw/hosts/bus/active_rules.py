"""The active rules and settings of a bus, and the facts that they add to events."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from bylaw.engine.index import RuleSet
from bylaw.languages import law
from bylaw.model.errors import LoadError
from bylaw.model.vocabulary import PolicyMode
from bylaw.runtime.loader import load_root, merge_reloaded, repeat_load
from bylaw.runtime.root import CONFIGURATION, PROJECT, read_configuration
from bylaw.runtime.rule_files import CONVENTION
from bylaw.runtime.rules_in_force import DisabledRules
from bylaw.runtime.settings import LawSettings
from bylaw.runtime.trust import Trust, check_request, trust_request
from bylaw.store.journal.records import rules_with_texts
from bylaw.store.paths import folder_of, relative_name
from bylaw.store.switches import read_switches

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.event import ApprovalGiven, Bus, File
    from bylaw.runtime.rule_files import FoundRuleFile
    from bylaw.runtime.settings import Settings
    from bylaw.runtime.trust import TrustRequest

NO_ACTIVE_RULES = "no RULE_DSL rules are active"
# The events that RULE_DSL rules can decide.
LawEvent = TypeVar("LawEvent", "Bus", "File", "ApprovalGiven")


def read_law_settings(root: str) -> LawSettings:
    """The `[law]` settings that apply. Rules are loaded only if that depends on trust."""
    written = read_configuration(root).settings.law
    if written == LawSettings():
        return written
    return ActiveRules(root, trusted_once=False).settings.law


class ActiveRules:
    """The rules and settings that apply now. Raises LoadError if they do not load."""

    def __init__(self, root: str, *, trusted_once: bool) -> None:
        self.root = root
        self._configuration = read_configuration(root)
        self._library = load_root(root)
        # Trust for one run covers only the rules and settings that exist when it begins.
        self._trusted_once = self._request() if trusted_once else None
        self._activate()

    def _activate(self) -> None:
        books = self._library.in_force()
        self.rules = RuleSet(books)
        self.texts = rules_with_texts(self._library.governing)
        self._disabled = read_switches(self.root).disabled
        self._switches = DisabledRules(books, self._disabled)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The problems of the rule files."""
        return self._library.diagnostics

    @property
    def has_law(self) -> bool:
        """Whether any RULE_DSL file is loaded. Without one, messages are not handled."""
        return any(book.dialect.name == law.name for book in self._library.books)

    def folders(self) -> set[str]:
        """The folders of rule files, by their paths from the root."""
        own = (relative_name(self.root, folder_of(one.location)) for one in self._rule_files())
        return {*own, *(place.folder for place in CONVENTION)}

    def has_changed(self, paths: Iterable[str]) -> bool:
        """Whether a changed path may be a rule or settings file, or the disabled rules changed."""
        files = {one.location for one in self._rule_files()}
        if any(path in files or self._may_hold_rules(path) for path in paths):
            return True
        return read_switches(self.root).disabled != self._disabled

    def _rule_files(self) -> Iterator[FoundRuleFile]:
        return (one for book in self._library.books for one in book.files)

    def _may_hold_rules(self, path: str) -> bool:
        name = relative_name(self.root, path)
        if name in (CONFIGURATION, PROJECT):
            return True
        folder, _, file = name.rpartition("/")
        places = (place for place in CONVENTION if place.folder == folder)
        return any(fnmatchcase(file, place.names) for place in places)

    def trust(self) -> Trust:
        """Check whether a person trusts these rules and settings now."""
        wanted = self._request()
        return (
            Trust.for_one_run()
            if wanted == self._trusted_once
            else check_request(self.root, wanted)
        )

    def _request(self) -> TrustRequest:
        return trust_request(self._library, self._configuration)

    @property
    def settings(self) -> Settings:
        """The settings that apply under the present trust."""
        return self.trust().in_force(self._configuration.settings)

    @property
    def digest(self) -> str:
        """The digest of the rules and the uids of disabled rules, on which decisions depend."""
        return f"{self.texts.digest.hex()} {' '.join(self._switches.disabled)}"

    def reload(self) -> tuple[Diagnostic, ...]:
        """Load changed files and return the problems. A file that fails keeps its old rules."""
        try:
            configuration = read_configuration(self.root)
        except LoadError as refused:
            return tuple(refused.diagnostics)
        self._library = merge_reloaded(self._library, repeat_load(self._library.search))
        self._configuration = configuration
        self._activate()
        return self._library.diagnostics

    def with_facts(self, event: LawEvent, phase: int | None) -> LawEvent:
        """Add the facts that settings give: phase, command roots, policy mode, disabled rules.

        The command roots are added even without trust: trust is checked when a command starts.
        """
        told = replace(
            event.facts,
            phase=phase,
            allowed_roots=self._configuration.settings.command.roots,
            policy_mode=self._policy_mode(),
        )
        named = self._switches.stamp(replace(event, facts=told))
        assert isinstance(named, type(event))
        return named

    def _policy_mode(self) -> PolicyMode:
        wanted = self._configuration.settings.law.policy_mode
        if wanted is PolicyMode.STRICT:  # strict mode needs no trust
            return wanted
        return self.settings.law.policy_mode
