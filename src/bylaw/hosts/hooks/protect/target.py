"""What a command may change, as data: paths, links, what git does."""

from __future__ import annotations

from typing import NamedTuple

from bylaw.hosts.hooks.protect.shell_listing import Sought


class Target(NamedTuple):
    """A path that may be changed.

    `whole` tells that a folder stands for all that is in it, or for those files that are `sought`;
    `inside` that it counts only if it lies in a folder that is there. If there is a
    `source`, the files in that folder are put there, if there is an `archive`, what is in that,
    with so many folders `stripped`; if it is a `patch`, what it names counts. `modes` tells that
    files stay readable, and only may cease to be programs; `code` that it is no path, but the code
    of a program that may put one together; `git` what git does to the work tree in which it lies.
    If it says `why`, it must not be changed wherever it lies.
    """

    path: str
    whole: bool = False
    sought: Sought = Sought()
    inside: bool = False
    source: str = ""
    archive: str = ""
    stripped: int = 0
    patch: bool = False
    modes: bool = False
    code: bool = False
    git: GitChange | None = None
    why: str = ""


class Link(NamedTuple):
    """A link that is made: a path, and where that leads, from the folder of the link."""

    path: str
    leads: str


class GitChange(NamedTuple):
    """What git does to the files of its work tree, or to those that `specs` name, if any do.

    `tracked` files are set back to what git knows; `untracked` and `ignored` ones are taken away,
    with the `folders` that hold nothing else. Beside the last commit it can be `revisions` to
    which files are set, or a `stash` from which they come. `asks` is False if git cannot be
    asked beforehand which of them differ.
    """

    tracked: bool = False
    untracked: bool = False
    ignored: bool = False
    folders: bool = True
    revisions: tuple[str, ...] = ()
    stash: str = ""
    specs: tuple[str, ...] = ()
    asks: bool = True
