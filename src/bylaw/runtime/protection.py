"""Determine which paths of a root an agent must not change, and why.

An agent must not change its own rules, or anything that could disable them.
"""

from __future__ import annotations

import os
from enum import Enum, auto
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from msgspec import Struct

from bylaw.runtime.client_places import PLACES
from bylaw.runtime.configuration import CONFIGURATION, PROJECT
from bylaw.runtime.files_below import MAX_DEEP, files_in, is_program, takes_place_of
from bylaw.runtime.own_place import CACHE, STATE, named_place
from bylaw.runtime.paths import (
    as_bytes,
    as_text,
    folder_of,
    is_folder,
    is_there,
    lies_in,
    name_from,
    real_path,
    where_it_lies,
    with_ends_of_links,
)
from bylaw.runtime.policy_settings import CONFIG as POLICY_CONFIG
from bylaw.runtime.protected_mentions import speaks_of
from bylaw.runtime.protected_names import (
    ANYWHERE,
    BELONGS_TO_US,
    DECIDES_GIT,
    DECIDES_IN_INFO,
    GIT,
    GIT_SWITCHES,
    HOLDS_HOOKS,
    HOLDS_SETTINGS,
    HOOK_FILES,
    INFO,
    protected_by_name,
)
from bylaw.runtime.root import holds_settings
from bylaw.runtime.state_folder import OURS
from bylaw.runtime.switches import SWITCHES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from bylaw.runtime.discovery import Place
    from bylaw.runtime.settings.tables import ProtectSettings

# Whether a file is selected, by its path and by its path from the folder that was searched.
Fits: TypeAlias = "Callable[[str, str], bool]"

MAX_LOOKED = 2_000  # files per folder
_SAMPLE = ".sample"  # a hook that git does not run
_IN_FORCE = "its rules are active"
_RULES = "rules are loaded from this folder"
_NAMED = "the settings protect it"
_APPROVALS = "it holds approvals"


class Reach(Enum):
    """What an operation may do to the files of a folder."""

    ALL = auto()
    WORK_TREE = auto()  # git changes files, but not in `.git`
    MODES = auto()  # the content stays, but the executable bit may change


class ProtectedPath(NamedTuple):
    """A protected path, and why it is protected."""

    path: str
    why: str


class Protection(Struct, frozen=True, dict=True):
    """What is protected in a root: `files` of active rules by path, and what the settings name.

    `places` are folders in which a new file would be a rule. `approvals` are paths, relative to the
    root, in which people approve messages, if active rules request approvals.
    """

    root: str
    settings: ProtectSettings
    files: tuple[str, ...] = ()
    places: tuple[Place, ...] = ()
    approvals: tuple[str, ...] = ()

    def why(self, location: str) -> str | None:
        """Return why an absolute path without links must not be changed; None if it may."""
        if not self.settings.enabled:
            return None
        folded = location.casefold()
        for place, why in self._kept.items():
            if lies_in(folded, place):
                return why
        # Check the relative path: the root itself may be below a folder with such a name.
        return protected_by_name(self.shown(location)) or self._as_new_rule(folded)

    def found(self, path: str) -> ProtectedPath | None:
        """Check any path: its target, and the link itself if it is one."""
        for location in where_it_lies(path):
            why = self.why(location)
            if why is not None:
                return ProtectedPath(self.shown(location), why)
        return None

    def found_copy(self, path: str, source: str) -> ProtectedPath | None:
        """Check the target of a copy; outside the root only if it replaces another file.

        Rules in a copy of the complete root elsewhere are not active for any agent.
        """
        for location in where_it_lies(path):
            why = self.why(location)
            if why is not None and (
                not self._is_elsewhere(location) or takes_place_of(location, source)
            ):
                return ProtectedPath(self.shown(location), why)
        return None

    def names_below(self, path: str) -> Iterator[str]:
        """Yield protected names in a folder, existing or not, and folders of rules."""
        yield from (name for name, _ in ANYWHERE)
        yield from (f"{GIT}/{one}" for one in sorted(GIT_SWITCHES))
        rules = [f"{self._top}/{place.folder}".rstrip("/") for place in self.places]
        folder = real_path(path)
        yield from filter(None, (name_from(folder, one) for one in (*self._places(), *rules)))
        yield from ["."] if folder in rules else ()

    def found_below(self, path: str, fits: Fits, reach: Reach = Reach.ALL) -> ProtectedPath | None:
        """Return a protected path in a folder if a selected file is in it."""
        if not self.settings.enabled:
            return None
        for folder in where_it_lies(path):
            folded = folder.casefold()
            own = {
                f"{folder}/{name}": why for name, why in ANYWHERE if is_there(f"{folder}/{name}")
            }
            git = dict.fromkeys(self._of_git(reach), DECIDES_GIT)
            for place, why in {**self._existing, **own, **git}.items():
                if lies_in(place.casefold(), folded) and _has_fitting(place, folder, fits):
                    return ProtectedPath(self.shown(place), why)
        return None

    def found_ending(self, ending: str) -> ProtectedPath | None:
        """Check a path of which only the end is known; `ending` begins with a `/`."""
        if not self.settings.enabled:
            return None
        why = protected_by_name(ending)
        if why is not None:
            return ProtectedPath(ending.strip("/"), why)
        folded = ending.casefold().rstrip("/")
        for place, why in self._kept.items():
            if folded and place.endswith(folded):
                return ProtectedPath(self.shown(place), why)
        return None

    def mentioned(self, text: str, folder: str) -> ProtectedPath | None:
        """Find a protected path in a text that runs in a folder and cannot be parsed completely."""
        if not self.settings.enabled:
            return None
        folded = text.casefold()
        for name, why in ANYWHERE:
            if name.casefold() in folded:
                return ProtectedPath(name, why)
        for place, why in self._kept.items():
            if place.rpartition("/")[2] in folded:
                return ProtectedPath(self.shown(place), why)
        return self._mentioned_among(self._names, folded, folder)

    def mentioned_in_pieces(self, text: str, folder: str) -> ProtectedPath | None:
        """Find a protected path whose parts occur in a text one after the other."""
        if not self.settings.enabled:
            return None
        several = {name: why for name, why in self._names.items() if "/" in name}
        return self._mentioned_among(several, text.casefold(), folder)

    def _mentioned_among(
        self, names: Mapping[str, str], folded: str, folder: str
    ) -> ProtectedPath | None:
        found = (name for name in names if speaks_of(name.casefold(), folded, folder))
        return next((ProtectedPath(name, names[name]) for name in found), None)

    def watched(self) -> Iterator[str]:
        """Yield files and folders that show whether something protected was changed.

        Files that Bylaw itself writes while an agent works are left out.
        """
        yield from self.files
        # If the file loses our settings, it is no longer listed, which is a change as well.
        project = (PROJECT,) if holds_settings(self._top) else ()
        own = (CONFIGURATION, *project, SWITCHES, POLICY_CONFIG)
        yield from (f"{self._top}/{name}" for name in own)
        yield from (f"{top}/{name}" for top in self._tops() for name in HOOK_FILES)
        yield from _moved()
        for place in self.places:
            yield from self._rules_in(place)
        git = (f"{GIT}/{one}" for one in (*sorted(GIT_SWITCHES - {INFO}), *DECIDES_IN_INFO))
        # Paths from the settings come last: they may be large, and the number of files is limited.
        others = (*self.approvals, *git, *self.settings.paths)
        yield from (f"{self._top}/{name}" for name in others)

    def _rules_in(self, place: Place) -> Iterator[str]:
        folder = f"{self._top}/{place.folder}".rstrip("/")
        try:
            names = [as_text(one) for one in os.listdir(as_bytes(folder))]  # noqa: PTH208 - bytes
        except OSError:
            return
        yield from (f"{folder}/{one}" for one in sorted(names) if fnmatchcase(one, place.names))

    def shown(self, location: str) -> str:
        """Return a path relative to the root if it is inside."""
        return name_from(self._top, location) or location

    @cached_property
    def _top(self) -> str:
        return real_path(self.root)

    @cached_property
    def _existing(self) -> dict[str, str]:
        """Return all protected paths that exist, in their original spelling."""
        named = {f"{top}/{name}": why for top in self._tops() for name, why in ANYWHERE}
        return {place: why for place, why in {**self._places(), **named}.items() if is_there(place)}

    def _of_git(self, reach: Reach) -> Iterator[str]:
        """Yield existing files and folders that control what git does."""
        own = f"{self._top}/{GIT}"
        if reach is Reach.ALL:
            named = [f"{own}/{one}" for one in sorted(GIT_SWITCHES)]
            yield from filter(is_there, named if is_folder(own) else [own])
        elif reach is Reach.MODES:
            hooks = files_in(f"{own}/hooks", MAX_DEEP)
            yield from (one for one in hooks if not one.endswith(_SAMPLE) and is_program(one))

    def _is_elsewhere(self, location: str) -> bool:
        """Check whether a path is in none of the known protected places."""
        named = (f"{top}/{name}" for top in self._tops() for name in HOOK_FILES)
        known = (self._top, *self._kept, *named)
        return not any(lies_in(location.casefold(), one.casefold()) for one in known)

    @cached_property
    def _names(self) -> dict[str, str]:
        """Return all protected paths relative to the root; `*` stands for any name."""
        below = {self.shown(place).lstrip("/"): why for place, why in self._places().items()}
        git = dict.fromkeys((f"{GIT}/{one}" for one in sorted(GIT_SWITCHES)), DECIDES_GIT)
        return {**below, **dict(ANYWHERE), **git,
                **{place.pattern: _RULES for place in self.places}}  # fmt: skip

    @cached_property
    def _kept(self) -> dict[str, str]:
        """Return the protected paths, existing or not, in lower case for comparison."""
        return {place.casefold(): why for place, why in self._places().items()}

    def _places(self) -> dict[str, str]:
        kept = dict.fromkeys(with_ends_of_links(self.files), _IN_FORCE)
        kept |= dict.fromkeys(self._from_root(self.settings.paths), _NAMED)
        kept |= dict.fromkeys(self._from_root(self.approvals), _APPROVALS)
        kept |= dict.fromkeys(self._from_root((OURS,)), BELONGS_TO_US)
        kept |= dict.fromkeys(with_ends_of_links(_own_folders()), BELONGS_TO_US)
        kept |= dict.fromkeys(with_ends_of_links(_moved()), HOLDS_HOOKS)
        project = f"{self._top}/{PROJECT}"
        if holds_settings(self._top):
            kept |= dict.fromkeys(with_ends_of_links((project,)), HOLDS_SETTINGS)
        return kept

    def _from_root(self, names: Iterable[str]) -> Iterator[str]:
        return with_ends_of_links(f"{self._top}/{name}".rstrip("/") for name in names)

    def _tops(self) -> Iterator[str]:
        yield self._top
        home = os.environ.get("HOME", "")
        if home.startswith("/"):
            yield real_path(home)

    def _as_new_rule(self, folded: str) -> str | None:
        """Check for a file that would be a rule from the next event on."""
        name = folded.rpartition("/")[2]
        for place in self.places:
            folder = f"{self._top}/{place.folder}".rstrip("/").casefold()
            if folder_of(folded) == folder and fnmatchcase(name, place.names.casefold()):
                return _RULES
        return None


def _has_fitting(place: str, folder: str, fits: Fits) -> bool:
    """Check whether a file, or one in a folder, is selected; true if there are too many."""
    files = [place, *islice(files_in(place, MAX_DEEP), MAX_LOOKED)]
    return len(files) > MAX_LOOKED or any(
        fits(file, file[len(folder) :].lstrip("/")) for file in files
    )


def _own_folders() -> Iterator[str]:
    """Yield the user's own folders, even if this root may not use them: other roots do."""
    yield from filter(None, map(named_place, (CACHE, STATE)))


def _moved() -> Iterator[str]:
    """Yield the files of coding agents in folders that environment variables name."""
    for client in PLACES.values():
        yield from client.moved(os.environ)
