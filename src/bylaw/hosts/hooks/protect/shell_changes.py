"""Find the protected files that a shell text would change.

Resolves the targets of the text: links that it makes, files of folders that it copies, of patches,
and of archives, which are listed if that can be done quickly.
"""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from bylaw.hosts.clients.tools import diff_paths
from bylaw.hosts.hooks.protect.shell_programs import base_name
from bylaw.hosts.hooks.protect.shell_state import ShellStart
from bylaw.hosts.hooks.protect.shell_targets import shell_targets
from bylaw.hosts.hooks.protect.shell_values import UNKNOWN, normal_path
from bylaw.hosts.protected_paths import HOLDS_SETTINGS, ChangeScope, ProtectedPath
from bylaw.runtime.root import PROJECT
from bylaw.store.file_digests import MAX_DEEP, files_in
from bylaw.store.files import read_regular_bytes
from bylaw.store.paths import as_bytes, as_text, folder_of, is_folder, is_inside, path_exists

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bylaw.hosts.hooks.protect.git_changes import GitChanges
    from bylaw.hosts.hooks.protect.shell_lists import Link, Target
    from bylaw.hosts.protected_paths import Protection

MAX_BYTES = 16 << 20
MAX_MEMBERS = 20_000


def archive_members(path: str) -> list[str] | None:
    """Return the files that unpacking an archive writes, or None if that is unknown."""
    try:
        if not 0 < os.stat(as_bytes(path)).st_size <= MAX_BYTES:  # noqa: PTH116 - a Path takes no bytes
            return None
        found = list(islice(_member_names(path), MAX_MEMBERS + 1))
    except Exception:  # noqa: BLE001 - readers of archives raise many kinds of errors
        return None
    return found if len(found) <= MAX_MEMBERS else None


def _member_names(path: str) -> Iterator[str]:
    import tarfile  # noqa: PLC0415 - few commands unpack anything
    import zipfile  # noqa: PLC0415 - same

    with open(as_bytes(path), "rb") as file:  # noqa: PTH123 - a Path takes no bytes
        if zipfile.is_zipfile(file):
            yield from zipfile.ZipFile(file).namelist()
            return
        file.seek(0)
        with tarfile.open(fileobj=file) as archive:
            yield from (one.name for one in archive)


MAX_COPIED = 2_000  # files that come out of a folder
MAX_PATCHED = 10_000  # files of a patch
MAX_PATCH = 16 << 20
TOO_LARGE = "the patch is too large to check"
MAX_PATHS = 8_000  # paths that are checked; for all others, the text must not mention them
MAX_LINKS = 200  # links that a text makes
_OUR_NAME = "bylaw"


def mentions_settings(text: str) -> bool:
    """Whether a text may contain settings of Bylaw."""
    return _OUR_NAME in text.casefold()


def find_named_file(path: str, protection: Protection, *, speaks: bool) -> Iterator[ProtectedPath]:
    """Yield a path if it is protected; `speaks` says that settings of Bylaw may be written."""
    if "\0" in path:
        return
    kept = protection.found(path)
    if kept is not None:
        yield kept
    elif speaks and path.rpartition("/")[2].casefold() == PROJECT:
        # With settings of Bylaw, the file would make its folder a root of its own.
        yield ProtectedPath(protection.shown(path), HOLDS_SETTINGS)


class ProtectedTargets:
    """The protected files that a shell text would change; it runs in `folder`."""

    def __init__(self, text: str, folder: str, protection: Protection) -> None:
        self._text = text
        self._folder = folder
        self._protection = protection
        self._speaks = mentions_settings(text)
        self._read = shell_targets(text, ShellStart(folder, protection.root, os.environ))

    def found(self) -> Iterator[ProtectedPath]:
        """Yield the protected files, some perhaps more than once."""
        folders = self._read.folders
        each = list(dict.fromkeys(self._read.targets))
        most = MAX_PATHS // len(folders)
        if self._read.is_cut or len(each) > most or len(self._read.links) > MAX_LINKS:
            yield from self._mentioned()
        has_found = False
        # Check options last: they count only if nothing else is protected.
        for target in sorted(each[:most], key=_is_option):
            if has_found and _is_option(target):
                return
            found = self._existing(self._target(target))
            has_found = has_found or bool(found)
            yield from found
            if _is_unknown_path(target, folders):
                yield from self._mentioned()

    def _existing(self, each: Iterable[ProtectedPath]) -> list[ProtectedPath]:
        """Return those files of one word that exist, or the first one if none does."""
        found = list(dict.fromkeys(each))
        top = self._protection.root
        there = [one for one in found if path_exists(os.path.join(top, one.path))]  # noqa: PTH118 - a text
        return there or found[:1]

    def _mentioned(self) -> Iterator[ProtectedPath]:
        named = self._named
        if named is not None:
            yield named

    @cached_property
    def _mention_in_pieces(self) -> ProtectedPath | None:
        return self._protection.find_split_mention(self._text, self._folder)

    @cached_property
    def _named(self) -> ProtectedPath | None:
        return self._protection.mentioned(self._text, self._folder)

    def _target(self, target: Target) -> Iterator[ProtectedPath]:
        if target.why:
            yield ProtectedPath(target.path, target.why)
        elif target.code:
            spoken = self._protection.find_split_mention(target.path, self._folder)
            yield from [spoken] if spoken else ()
        elif target.path and "\n" not in target.path:
            for folder in self._read.folders:
                path = os.path.join(folder, target.path)  # noqa: PTH118 - a text
                for way in (path, *self._linked(path)):
                    yield from self._at(way, target, folder)

    def _linked(self, path: str) -> Iterator[str]:
        """Yield where a path leads through the links that the text makes."""
        links = self._links
        plain = normal_path(path) if links else path
        for link in links:
            if is_inside(plain, link.path):
                yield f"{link.leads}{plain[len(link.path) :]}"

    @cached_property
    def _links(self) -> list[Link]:
        made = ((folder, link) for folder in self._read.folders for link in self._read.links)
        links = [
            link._replace(path=path, leads=normal_path(os.path.join(start, link.leads)))  # noqa: PTH118 - a text
            for folder, link in islice(made, MAX_LINKS)
            for path in [normal_path(os.path.join(folder, link.path))]  # noqa: PTH118 - same
            for start in (folder_of(path), folder)
        ]
        return [link for link in dict.fromkeys(links) if link.path != link.leads]

    def _at(self, path: str, target: Target, folder: str) -> Iterator[ProtectedPath]:
        if target.git is not None:
            yield from self._git.found(target.git, path)
        elif UNKNOWN in path:
            yield from self._partly_known(path)
        elif target.inside and not is_folder(folder_of(path)):
            return
        elif target.source:
            yield from self._copied(path, os.path.join(folder, target.source))  # noqa: PTH118 - a text
        elif target.archive:
            yield from self._unpacked(path, target, folder)
        else:
            yield from self._one(path)
            yield from self._patched(path, folder) if target.patch else ()
            yield from self._below(path, target)

    @cached_property
    def _git(self) -> GitChanges:
        from bylaw.hosts.hooks.protect.git_changes import GitChanges  # noqa: PLC0415 - few texts change files with git

        return GitChanges(self._protection)

    def _below(self, path: str, target: Target) -> Iterator[ProtectedPath]:
        reach = ChangeScope.MODES if target.modes else ChangeScope.ALL
        found = target.whole and self._protection.find_below(path, target.sought.fits, reach)
        yield from [found] if found else ()

    def _patched(self, patch: str, folder: str) -> Iterator[ProtectedPath]:
        named = _patch_paths(patch)
        if len(named) > MAX_PATCHED:
            yield ProtectedPath(self._protection.shown(patch), TOO_LARGE)
        for one in named[:MAX_PATCHED]:
            yield from self._one(os.path.join(folder, one))  # noqa: PTH118 - a text

    def _copied(self, path: str, source: str) -> Iterator[ProtectedPath]:
        """Yield what a copy to a path changes, for a file or for all files of a folder."""
        if not path_exists(source):
            yield from self._one(path)
        start = source.rstrip("/")
        files = list(islice(files_in(start or "/", MAX_DEEP), MAX_COPIED + 1))
        if len(files) > MAX_COPIED:  # then also add the files that could be protected
            named = (f"{start}/{one}" for one in self._protection.names_below(path))
            files += [file for one in named for file in islice(files_in(one, 1), MAX_COPIED)]
        for file in files:
            copy = self._protection.find_for_copy(f"{path}{file[len(start) :]}", file)
            yield from [copy] if copy else ()

    def _unpacked(self, path: str, target: Target, folder: str) -> Iterator[ProtectedPath]:
        """Yield the files of an archive at the places where they are unpacked."""
        archive = os.path.join(folder, target.archive)  # noqa: PTH118 - a text
        for name in archive_members(archive) or ():
            inside = name.split("/")[target.stripped :]
            yield from self._one("/".join([path, *inside]))

    def _partly_known(self, path: str) -> Iterator[ProtectedPath]:
        """Check what is known of a path: its end, and the folder that it is in for certain."""
        ending = path.rpartition(UNKNOWN)[2].lstrip("/")
        kept = self._protection.find_by_ending(f"/{ending}") if ending else None
        spoken = self._mention_in_pieces
        if kept is None and spoken and fnmatchcase(base_name(ending), base_name(spoken.path)):
            kept = spoken
        yield from [kept] if kept else ()
        start = path.partition(UNKNOWN)[0]
        if start.endswith("/"):
            yield from self._one(start)

    def _one(self, path: str) -> Iterator[ProtectedPath]:
        yield from find_named_file(path, self._protection, speaks=self._speaks)


def _is_option(target: Target) -> bool:
    return target.path.startswith("-")


def _is_unknown_path(target: Target, folders: Iterable[str]) -> bool:
    """Whether nothing is known of a path, or it is a patch that cannot be read."""
    if target.patch:
        return not any(_patch_paths(os.path.join(folder, target.path)) for folder in folders)  # noqa: PTH118 - a text
    return bool(target.path) and not target.path.strip(f"{UNKNOWN}/")


def _patch_paths(path: str) -> list[str]:
    """Return the files that a patch names; none if it cannot be read, or is not a patch.

    If it names too many, or is too large, the result has more than `MAX_PATCHED` items.
    """
    try:
        data = read_regular_bytes(path, MAX_PATCH)
    except (OSError, ValueError):
        return []
    named = list(islice(diff_paths(as_text(data)), MAX_PATCHED + 1))
    return named if len(data) <= MAX_PATCH else [path] * (MAX_PATCHED + 1)
