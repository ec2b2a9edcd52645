"""The active rules and settings of a bus, and the facts that they add to events."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from bylaw.dialects import law
from bylaw.engine.index import RuleSet
from bylaw.model.errors import LoadError
from bylaw.model.vocabulary import PolicyMode
from bylaw.runtime.configuration import CONFIGURATION, PROJECT
from bylaw.runtime.discovery import CONVENTION
from bylaw.runtime.journal.sources import rules_with_texts
from bylaw.runtime.loading import load_again, load_root
from bylaw.runtime.paths import folder_of, name_from
from bylaw.runtime.reloading import reloaded
from bylaw.runtime.root import read_configuration
from bylaw.runtime.settings.tables import LawSettings
from bylaw.runtime.switches import read_switches
from bylaw.runtime.switching import Switchboard
from bylaw.runtime.trust import Trust, judged, request_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.event import ApprovalGiven, Bus, File
    from bylaw.runtime.discovery import Found
    from bylaw.runtime.settings import Settings
    from bylaw.runtime.trust import Request

LAWLESS = "no RULE_DSL rules are active"
# The events that RULE_DSL rules can decide.
Stamped = TypeVar("Stamped", "Bus", "File", "ApprovalGiven")


def law_settings(root: str) -> LawSettings:
    """The `[law]` settings that apply. Rules are loaded only if that depends on trust."""
    written = read_configuration(root).settings.law
    if written == LawSettings():
        return written
    return InForce(root, trusted_once=False).settings.law


class InForce:
    """The rules and settings that apply now. Raises LoadError if they do not load."""

    def __init__(self, root: str, *, trusted_once: bool) -> None:
        self.root = root
        self._configuration = read_configuration(root)
        self._library = load_root(root)
        # Trust for one run covers only the rules and settings that exist when it begins.
        self._trusted_once = self._request() if trusted_once else None
        self._settle()

    def _settle(self) -> None:
        books = self._library.in_force()
        self.rules = RuleSet(books)
        self.texts = rules_with_texts(self._library.governing)
        self._off = read_switches(self.root).disabled
        self._switches = Switchboard(books, self._off)

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
        own = (name_from(self.root, folder_of(one.location)) for one in self._found())
        return {*own, *(place.folder for place in CONVENTION)}

    def has_changed(self, paths: Iterable[str]) -> bool:
        """Whether a changed path may be a rule or settings file, or the disabled rules changed."""
        files = {one.location for one in self._found()}
        if any(path in files or self._may_hold_rules(path) for path in paths):
            return True
        return read_switches(self.root).disabled != self._off

    def _found(self) -> Iterator[Found]:
        return (one for book in self._library.books for one in book.files)

    def _may_hold_rules(self, path: str) -> bool:
        name = name_from(self.root, path)
        if name in (CONFIGURATION, PROJECT):
            return True
        folder, _, file = name.rpartition("/")
        places = (place for place in CONVENTION if place.folder == folder)
        return any(fnmatchcase(file, place.names) for place in places)

    def trust(self) -> Trust:
        """Check whether a person trusts these rules and settings now."""
        wanted = self._request()
        return Trust.for_one_run() if wanted == self._trusted_once else judged(self.root, wanted)

    def _request(self) -> Request:
        return request_of(self._library, self._configuration)

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
        self._library = reloaded(self._library, load_again(self._library.search))
        self._configuration = configuration
        self._settle()
        return self._library.diagnostics

    def stamped(self, event: Stamped, phase: int | None) -> Stamped:
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
