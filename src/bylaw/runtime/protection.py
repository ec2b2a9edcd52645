"""A root, its rule files and settings → which paths an agent must not change, and why.

An agent must not change the rules that it is under, nor what could switch them off.
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

# Whether a file is meant, by its path and by that from the folder in which it was looked for.
Fits: TypeAlias = "Callable[[str, str], bool]"

MAX_LOOKED = 2_000  # files of a folder
_SAMPLE = ".sample"  # a hook of git that does not run
_IN_FORCE = "it is in force"
_RULES = "rules lie there"
_NAMED = "the settings protect it"
_APPROVALS = "approvals are given there"


class Reach(Enum):
    """What may become of the files of a folder."""

    ALL = auto()
    WORK_TREE = auto()  # git does it, which leaves its own folder alone
    MODES = auto()  # they stay readable, but may cease to be programs


class ProtectedPath(NamedTuple):
    """A path that is protected, and why."""

    path: str
    why: str


class Protection(Struct, frozen=True, dict=True):
    """What is protected in a root: `files` by their paths, as of rules in force, and settings.

    `places` are those where a new file would be a rule; `approvals` paths from the root in which
    people approve, if there are rules that ask for it.
    """

    root: str
    settings: ProtectSettings
    files: tuple[str, ...] = ()
    places: tuple[Place, ...] = ()
    approvals: tuple[str, ...] = ()

    def why(self, location: str) -> str | None:
        """Why a path from the top of the file system, without links, must not be changed."""
        if not self.settings.enabled:
            return None
        folded = location.casefold()
        for place, why in self._kept.items():
            if lies_in(folded, place):
                return why
        # The root itself may lie below such a name.
        return protected_by_name(self.shown(location)) or self._as_new_rule(folded)

    def found(self, path: str) -> ProtectedPath | None:
        """The same for any path: where it leads, and where it lies itself if it is a link."""
        for location in where_it_lies(path):
            why = self.why(location)
            if why is not None:
                return ProtectedPath(self.shown(location), why)
        return None

    def found_copy(self, path: str, source: str) -> ProtectedPath | None:
        """The same for a copy: outside of the root, it counts if it takes the place of another.

        A copy of the whole root somewhere else has no rules under which anybody works.
        """
        for location in where_it_lies(path):
            why = self.why(location)
            if why is not None and (
                not self._is_elsewhere(location) or takes_place_of(location, source)
            ):
                return ProtectedPath(self.shown(location), why)
        return None

    def names_below(self, path: str) -> Iterator[str]:
        """What is protected in a folder, there or not: names from it on, and folders of rules."""
        yield from (name for name, _ in ANYWHERE)
        yield from (f"{GIT}/{one}" for one in sorted(GIT_SWITCHES))
        rules = [f"{self._top}/{place.folder}".rstrip("/") for place in self.places]
        folder = real_path(path)
        yield from filter(None, (name_from(folder, one) for one in (*self._places(), *rules)))
        yield from ["."] if folder in rules else ()

    def found_below(self, path: str, fits: Fits, reach: Reach = Reach.ALL) -> ProtectedPath | None:
        """What is protected in a folder, if a file of it fits."""
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
        """What a path can be of which only the end is known; `ending` begins with a `/`."""
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
        """What a text speaks of that is run in a folder, and that nobody can read to its end."""
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
        """The path of which a text names the parts one after the other, if it is protected."""
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
        """Files and folders that tell whether something protected was changed.

        What Bylaw itself writes while an agent works is not among them.
        """
        yield from self.files
        # One that loses its settings is not among them any more, which is a change, too.
        project = (PROJECT,) if holds_settings(self._top) else ()
        own = (CONFIGURATION, *project, SWITCHES, POLICY_CONFIG)
        yield from (f"{self._top}/{name}" for name in own)
        yield from (f"{top}/{name}" for top in self._tops() for name in HOOK_FILES)
        yield from _moved()
        for place in self.places:
            yield from self._rules_in(place)
        git = (f"{GIT}/{one}" for one in (*sorted(GIT_SWITCHES - {INFO}), *DECIDES_IN_INFO))
        # What people name comes last: it may be large, and there is an end to what is looked at.
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
        """A path as people know it."""
        return name_from(self._top, location) or location

    @cached_property
    def _top(self) -> str:
        return real_path(self.root)

    @cached_property
    def _existing(self) -> dict[str, str]:
        """Everything of which the place is known, as it is written; and that is there."""
        named = {f"{top}/{name}": why for top in self._tops() for name, why in ANYWHERE}
        return {place: why for place, why in {**self._places(), **named}.items() if is_there(place)}

    def _of_git(self, reach: Reach) -> Iterator[str]:
        """What decides what git does, and is there."""
        own = f"{self._top}/{GIT}"
        if reach is Reach.ALL:
            named = [f"{own}/{one}" for one in sorted(GIT_SWITCHES)]
            yield from filter(is_there, named if is_folder(own) else [own])
        elif reach is Reach.MODES:
            hooks = files_in(f"{own}/hooks", MAX_DEEP)
            yield from (one for one in hooks if not one.endswith(_SAMPLE) and is_program(one))

    def _is_elsewhere(self, location: str) -> bool:
        """Whether no place is known in which a path lies."""
        named = (f"{top}/{name}" for top in self._tops() for name in HOOK_FILES)
        known = (self._top, *self._kept, *named)
        return not any(lies_in(location.casefold(), one.casefold()) for one in known)

    @cached_property
    def _names(self) -> dict[str, str]:
        """Everything as it is called from the root; `*` stands for any name."""
        below = {self.shown(place).lstrip("/"): why for place, why in self._places().items()}
        git = dict.fromkeys((f"{GIT}/{one}" for one in sorted(GIT_SWITCHES)), DECIDES_GIT)
        return {**below, **dict(ANYWHERE), **git,
                **{place.pattern: _RULES for place in self.places}}  # fmt: skip

    @cached_property
    def _kept(self) -> dict[str, str]:
        """The same, whether it is there or not, to be compared."""
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
        """A file that would be a rule from the next event on."""
        name = folded.rpartition("/")[2]
        for place in self.places:
            folder = f"{self._top}/{place.folder}".rstrip("/").casefold()
            if folder_of(folded) == folder and fnmatchcase(name, place.names.casefold()):
                return _RULES
        return None


def _has_fitting(place: str, folder: str, fits: Fits) -> bool:
    """Whether a file fits, or one in a folder does."""
    files = [place, *islice(files_in(place, MAX_DEEP), MAX_LOOKED)]
    return len(files) > MAX_LOOKED or any(
        fits(file, file[len(folder) :].lstrip("/")) for file in files
    )


def _own_folders() -> Iterator[str]:
    """Of the user, also where this root may not use them: what others use lies there."""
    yield from filter(None, map(named_place, (CACHE, STATE)))


def _moved() -> Iterator[str]:
    """The files of coding agents where a variable says that they lie."""
    for client in PLACES.values():
        yield from client.moved(os.environ)
