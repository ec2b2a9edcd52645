"""Determine which paths an agent must not change, and why.

An agent must not change its own rules, or anything that could disable them. Some names are
protected in every folder, because a folder below the root, or the home of the user, can be the root
of the next session. Names are compared without regard to case. A text that cannot be parsed
completely mentions a path if the parts of the path follow one another, not far apart; the first
parts may also come from the folder in which the text runs.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from enum import Enum, auto
from fnmatch import fnmatchcase
from functools import cache, cached_property
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from msgspec import Struct

from bylaw.hosts.clients.places import PLACES
from bylaw.runtime.policy_settings import CONFIG as POLICY_CONFIG
from bylaw.runtime.policy_settings import TRANSIENT
from bylaw.runtime.root import CONFIGURATION, PROJECT, has_settings
from bylaw.store.file_digests import MAX_DEEP, files_in, is_executable, would_replace
from bylaw.store.paths import (
    CACHE_BASE,
    STATE_BASE,
    as_bytes,
    as_text,
    folder_of,
    is_folder,
    is_inside,
    named_folder,
    path_exists,
    real_locations,
    real_path,
    relative_name,
    with_link_targets,
)
from bylaw.store.state_folder import BYLAW_FOLDER
from bylaw.store.switches import SWITCHES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from bylaw.runtime.rule_files import RuleFolder
    from bylaw.runtime.settings import ProtectSettings

GIT = ".git"

BELONGS_TO_BYLAW = "it belongs to Bylaw"
HOLDS_SETTINGS = "it contains settings of Bylaw"
HOLDS_HOOKS = "it contains hooks of a coding agent"
CONTROLS_GIT = "it controls what git does"
OF_POLICIES = "it belongs to file policies"

# Where coding agents keep their hooks: in a project or below the home of a user.
_HOOK_PATHS = dict.fromkeys(
    name
    for client in PLACES.values()
    for name in (*client.in_project(), *(f"{client.home}/{one}" for one in client.user_paths()))
)
HOOK_FILES = tuple(
    one
    for one in _HOOK_PATHS
    if not any(is_inside(one, other) for other in _HOOK_PATHS if other != one)
)
# The parts of `.git` that control what git runs and sees. The rest of `.git`, and of `info`, is
# changed by normal git commands.
INFO = "info"
GIT_CONTROLS = frozenset({"hooks", "config", "config.worktree", INFO, "commondir", "gitdir"})
INFO_CONTROLS = tuple(
    f"{INFO}/{one}" for one in ("attributes", "exclude", "grafts", "sparse-checkout")
)

ANYWHERE: tuple[tuple[str, str], ...] = (
    (BYLAW_FOLDER, BELONGS_TO_BYLAW),
    (CONFIGURATION, HOLDS_SETTINGS),
    (TRANSIENT, OF_POLICIES),
    (POLICY_CONFIG, OF_POLICIES),
    *((one, HOLDS_HOOKS) for one in HOOK_FILES),
)
_TAILS = tuple((tuple(name.casefold().split("/")), why) for name, why in ANYWHERE)


def protected_by_name(path: str) -> str | None:
    """Return why a path is protected in every folder; None if it is not."""
    parts = path.casefold().split("/")
    for tail, why in _TAILS:
        size = len(tail)
        if any(tuple(parts[at : at + size]) == tail for at in range(len(parts) - size + 1)):
            return why
    if GIT in parts:
        behind = parts[parts.index(GIT) + 1 :]
        if not any(behind) or GIT_CONTROLS.intersection(behind):
            return CONTROLS_GIT
    return None


MAX_APART = 500  # characters between two parts of a path
_ANY = "*"


def mentions_path(name: str, text: str, folder: str) -> bool:
    """Check whether a text that runs in a folder may refer to a path of that name.

    `*` stands for any name. Pass name and text in lower case (`casefold`).
    """
    parts = name.split("/")
    there = folder.casefold().rstrip("/").split("/")
    starts = [at for at in range(len(parts)) if not at or there[-at:] == parts[:at]]
    return any(_are_in_order(parts[at:], text) for at in starts)


def _are_in_order(parts: list[str], text: str) -> bool:
    if not all(part.strip(_ANY) in text for part in parts):
        return False  # most texts end here
    ends: list[int] = []
    for number, part in enumerate(parts):
        spots = [found.span() for found in _separate_part(part).finditer(text)]
        ends = [end for start, end in spots if not number or _ends_before(ends, start)]
        if not ends:
            return False
    return True


def _ends_before(ends: list[int], start: int) -> bool:
    """Check whether one of the ends is before a position and not far from it."""
    at = bisect_left(ends, start - MAX_APART)
    return at < len(ends) and ends[at] <= start


@cache
def _separate_part(part: str) -> re.Pattern[str]:
    """Return a pattern for a part of a path that is not part of a longer name."""
    written = re.escape(part).replace(re.escape(_ANY), r"[^\s/'\"]*")
    return re.compile(rf"(?<![\w.-]){written}(?![\w-]|\.\w)")


# Whether a file is selected, by its path and by its path from the folder that was searched.
PathFilter: TypeAlias = "Callable[[str, str], bool]"

MAX_SEARCHED_FILES = 2_000  # files per folder
_SAMPLE = ".sample"  # a hook that git does not run
_ACTIVE = "its rules are active"
_RULES = "rules are loaded from this folder"
_NAMED = "the settings protect it"
_APPROVALS = "it holds approvals"


class ChangeScope(Enum):
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
    places: tuple[RuleFolder, ...] = ()
    approvals: tuple[str, ...] = ()

    def why(self, location: str) -> str | None:
        """Return why an absolute path without links must not be changed; None if it may."""
        if not self.settings.enabled:
            return None
        folded = location.casefold()
        for place, why in self._folded_paths.items():
            if is_inside(folded, place):
                return why
        # Check the relative path: the root itself may be below a folder with such a name.
        return protected_by_name(self.shown(location)) or self._new_rule_reason(folded)

    def found(self, path: str) -> ProtectedPath | None:
        """Check any path: its target, and the link itself if it is one."""
        for location in real_locations(path):
            why = self.why(location)
            if why is not None:
                return ProtectedPath(self.shown(location), why)
        return None

    def find_for_copy(self, path: str, source: str) -> ProtectedPath | None:
        """Check the target of a copy; outside the root only if it replaces another file.

        Rules in a copy of the complete root elsewhere are not active for any agent.
        """
        for location in real_locations(path):
            why = self.why(location)
            if why is not None and (
                not self._is_elsewhere(location) or would_replace(location, source)
            ):
                return ProtectedPath(self.shown(location), why)
        return None

    def names_below(self, path: str) -> Iterator[str]:
        """Yield protected names in a folder, existing or not, and folders of rules."""
        yield from (name for name, _ in ANYWHERE)
        yield from (f"{GIT}/{one}" for one in sorted(GIT_CONTROLS))
        rules = [f"{self._top}/{place.folder}".rstrip("/") for place in self.places]
        folder = real_path(path)
        yield from filter(None, (relative_name(folder, one) for one in (*self._places(), *rules)))
        yield from ["."] if folder in rules else ()

    def find_below(
        self, path: str, fits: PathFilter, reach: ChangeScope = ChangeScope.ALL
    ) -> ProtectedPath | None:
        """Return a protected path in a folder if a selected file is in it."""
        if not self.settings.enabled:
            return None
        for folder in real_locations(path):
            folded = folder.casefold()
            own = {
                f"{folder}/{name}": why for name, why in ANYWHERE if path_exists(f"{folder}/{name}")
            }
            git = dict.fromkeys(self._git_paths(reach), CONTROLS_GIT)
            for place, why in {**self._existing, **own, **git}.items():
                if is_inside(place.casefold(), folded) and _has_selected_file(place, folder, fits):
                    return ProtectedPath(self.shown(place), why)
        return None

    def find_by_ending(self, ending: str) -> ProtectedPath | None:
        """Check a path of which only the end is known; `ending` begins with a `/`."""
        if not self.settings.enabled:
            return None
        why = protected_by_name(ending)
        if why is not None:
            return ProtectedPath(ending.strip("/"), why)
        folded = ending.casefold().rstrip("/")
        for place, why in self._folded_paths.items():
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
        for place, why in self._folded_paths.items():
            if place.rpartition("/")[2] in folded:
                return ProtectedPath(self.shown(place), why)
        return self._find_mention(self._names, folded, folder)

    def find_split_mention(self, text: str, folder: str) -> ProtectedPath | None:
        """Find a protected path whose parts occur in a text one after the other."""
        if not self.settings.enabled:
            return None
        several = {name: why for name, why in self._names.items() if "/" in name}
        return self._find_mention(several, text.casefold(), folder)

    def _find_mention(
        self, names: Mapping[str, str], folded: str, folder: str
    ) -> ProtectedPath | None:
        found = (name for name in names if mentions_path(name.casefold(), folded, folder))
        return next((ProtectedPath(name, names[name]) for name in found), None)

    def watched_paths(self) -> Iterator[str]:
        """Yield files and folders that show whether something protected was changed.

        Files that Bylaw itself writes while an agent works are left out.
        """
        yield from self.files
        # If the file loses our settings, it is no longer listed, which is a change as well.
        project = (PROJECT,) if has_settings(self._top) else ()
        own = (CONFIGURATION, *project, SWITCHES, POLICY_CONFIG)
        yield from (f"{self._top}/{name}" for name in own)
        yield from (f"{top}/{name}" for top in self._tops() for name in HOOK_FILES)
        yield from _moved_paths()
        for place in self.places:
            yield from self._rules_in(place)
        git = (f"{GIT}/{one}" for one in (*sorted(GIT_CONTROLS - {INFO}), *INFO_CONTROLS))
        # Paths from the settings come last: they may be large, and the number of files is limited.
        others = (*self.approvals, *git, *self.settings.paths)
        yield from (f"{self._top}/{name}" for name in others)

    def _rules_in(self, place: RuleFolder) -> Iterator[str]:
        folder = f"{self._top}/{place.folder}".rstrip("/")
        try:
            names = [as_text(one) for one in os.listdir(as_bytes(folder))]  # noqa: PTH208 - bytes
        except OSError:
            return
        yield from (f"{folder}/{one}" for one in sorted(names) if fnmatchcase(one, place.names))

    def shown(self, location: str) -> str:
        """Return a path relative to the root if it is inside."""
        return relative_name(self._top, location) or location

    @cached_property
    def _top(self) -> str:
        return real_path(self.root)

    @cached_property
    def _existing(self) -> dict[str, str]:
        """Return all protected paths that exist, in their original spelling."""
        named = {f"{top}/{name}": why for top in self._tops() for name, why in ANYWHERE}
        return {
            place: why for place, why in {**self._places(), **named}.items() if path_exists(place)
        }

    def _git_paths(self, reach: ChangeScope) -> Iterator[str]:
        """Yield existing files and folders that control what git does."""
        own = f"{self._top}/{GIT}"
        if reach is ChangeScope.ALL:
            named = [f"{own}/{one}" for one in sorted(GIT_CONTROLS)]
            yield from filter(path_exists, named if is_folder(own) else [own])
        elif reach is ChangeScope.MODES:
            hooks = files_in(f"{own}/hooks", MAX_DEEP)
            yield from (one for one in hooks if not one.endswith(_SAMPLE) and is_executable(one))

    def _is_elsewhere(self, location: str) -> bool:
        """Check whether a path is in none of the known protected places."""
        named = (f"{top}/{name}" for top in self._tops() for name in HOOK_FILES)
        known = (self._top, *self._folded_paths, *named)
        return not any(is_inside(location.casefold(), one.casefold()) for one in known)

    @cached_property
    def _names(self) -> dict[str, str]:
        """Return all protected paths relative to the root; `*` stands for any name."""
        below = {self.shown(place).lstrip("/"): why for place, why in self._places().items()}
        git = dict.fromkeys((f"{GIT}/{one}" for one in sorted(GIT_CONTROLS)), CONTROLS_GIT)
        return {**below, **dict(ANYWHERE), **git,
                **{place.pattern: _RULES for place in self.places}}  # fmt: skip

    @cached_property
    def _folded_paths(self) -> dict[str, str]:
        """Return the protected paths, existing or not, in lower case for comparison."""
        return {place.casefold(): why for place, why in self._places().items()}

    def _places(self) -> dict[str, str]:
        kept = dict.fromkeys(with_link_targets(self.files), _ACTIVE)
        kept |= dict.fromkeys(self._from_root(self.settings.paths), _NAMED)
        kept |= dict.fromkeys(self._from_root(self.approvals), _APPROVALS)
        kept |= dict.fromkeys(self._from_root((BYLAW_FOLDER,)), BELONGS_TO_BYLAW)
        kept |= dict.fromkeys(with_link_targets(_own_folders()), BELONGS_TO_BYLAW)
        kept |= dict.fromkeys(with_link_targets(_moved_paths()), HOLDS_HOOKS)
        project = f"{self._top}/{PROJECT}"
        if has_settings(self._top):
            kept |= dict.fromkeys(with_link_targets((project,)), HOLDS_SETTINGS)
        return kept

    def _from_root(self, names: Iterable[str]) -> Iterator[str]:
        return with_link_targets(f"{self._top}/{name}".rstrip("/") for name in names)

    def _tops(self) -> Iterator[str]:
        yield self._top
        home = os.environ.get("HOME", "")
        if home.startswith("/"):
            yield real_path(home)

    def _new_rule_reason(self, folded: str) -> str | None:
        """Check for a file that would be a rule from the next event on."""
        name = folded.rpartition("/")[2]
        for place in self.places:
            folder = f"{self._top}/{place.folder}".rstrip("/").casefold()
            if folder_of(folded) == folder and fnmatchcase(name, place.names.casefold()):
                return _RULES
        return None


def _has_selected_file(place: str, folder: str, fits: PathFilter) -> bool:
    """Check whether a file, or one in a folder, is selected; true if there are too many."""
    files = [place, *islice(files_in(place, MAX_DEEP), MAX_SEARCHED_FILES)]
    return len(files) > MAX_SEARCHED_FILES or any(
        fits(file, file[len(folder) :].lstrip("/")) for file in files
    )


def _own_folders() -> Iterator[str]:
    """Yield the user's own folders, even if this root may not use them: other roots do."""
    yield from filter(None, map(named_folder, (CACHE_BASE, STATE_BASE)))


def _moved_paths() -> Iterator[str]:
    """Yield the files of coding agents in folders that environment variables name."""
    for client in PLACES.values():
        yield from client.moved(os.environ)
