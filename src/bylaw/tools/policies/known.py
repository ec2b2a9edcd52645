"""Load the file policies of a root, with the diagnostics of files that do not load."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.dialects.file_policies.reader import read_noted
from bylaw.model.diagnostic import has_errors
from bylaw.model.errors import BylawError
from bylaw.model.suggest import did_you_mean
from bylaw.model.uid import uid_of
from bylaw.model.visible import brief
from bylaw.runtime.discovery import POLICIES
from bylaw.runtime.loading import load_root
from bylaw.runtime.policy_settings import CONFIG, LEGACY
from bylaw.runtime.root import read_configuration
from bylaw.runtime.switches import read_switches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from bylaw.dialects.file_policies.written import WrittenPolicy
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.runtime.loading import Library


class KnownPolicy(Struct, frozen=True):
    """A policy that loads, its file, and whether it is disabled."""

    policy: WrittenPolicy
    path: str
    is_off: bool


class KnownPolicies(Struct, frozen=True):
    """The policies of a root, sorted by identifier, and diagnostics."""

    policies: tuple[KnownPolicy, ...]
    diagnostics: tuple[Diagnostic, ...]

    @property
    def has_errors(self) -> bool:
        """Whether a file has errors."""
        return has_errors(self.diagnostics)

    def named(self, name: str) -> KnownPolicy | None:
        """Return the policy with that identifier."""
        return next((one for one in self.policies if one.policy.id == name), None)

    def refuse_unknown(self, name: str, others: Iterable[str]) -> None:
        """Raise BylawError if the name is neither a policy nor one of `others`."""
        names = {*(one.policy.id for one in self.policies), *others}
        if name not in names:
            hint = did_you_mean(name, names) or "there are no policies here"
            raise BylawError(f"unknown policy `{brief(name)}`; {hint}")


def known_policies(root: str, tell: Callable[[str], None] | None = None) -> KnownPolicies:
    """Load the policies of a root like `bylaw check`. Raise LoadError if its settings fail."""
    read_configuration(root)
    library = load_root(root, tell)
    switches = read_switches(root)
    found = []
    for book in library.books:
        for path, file in book.texts.items() if book.dialect.name == POLICIES else ():
            policy = read_noted(file.source, file.known).policy
            if policy is not None and path not in book.broken:
                off = uid_of(POLICIES, path, policy.id) in switches.disabled
                found.append(KnownPolicy(policy, path, off))
    found.sort(key=lambda one: one.policy.id)
    wrong = (*about_policies(library), *switches.diagnostics)
    return KnownPolicies(tuple(found), wrong)


def about_policies(library: Library) -> Iterator[Diagnostic]:
    """Select diagnostics of policies and their settings. Other commands report the rest."""
    books = (one for one in library.books if one.dialect.name == POLICIES)
    files = {CONFIG, LEGACY, *(found.path for one in books for found in one.files)}
    return (one for one in library.diagnostics if one.source.path in files)
