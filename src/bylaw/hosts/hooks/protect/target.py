"""What a command may change, as data: paths, links, and what git does."""

from __future__ import annotations

from typing import NamedTuple

from bylaw.hosts.hooks.protect.shell_listing import Sought


class Target(NamedTuple):
    """A path that may be changed.

    whole     with a folder, all its files are changed, or those that match `sought`
    inside    the path counts only if it is in an existing folder
    source    the files of this folder are written to the path
    archive   the files of this archive are written to the path
    stripped  the number of leading folders that are removed from names in the archive
    patch     the path is a patch, and the files that it names are changed
    modes     files stay readable; at most they are no longer executable
    code      it is not a path, but code that may compute one
    git       what git does to the work tree of the path
    why       if not empty, the path must not be changed, wherever it is
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
    """A link that a command makes: its path, and its target from the folder of the link."""

    path: str
    leads: str


class GitChange(NamedTuple):
    """What git does to the files of its work tree, or to those that `specs` name.

    It restores `tracked` files, and removes `untracked` and `ignored` ones, with `folders` that
    become empty. Files are restored from the last commit and from `revisions`, or they come from a
    `stash`. `asks` is False if git cannot be asked first which files differ.
    """

    tracked: bool = False
    untracked: bool = False
    ignored: bool = False
    folders: bool = True
    revisions: tuple[str, ...] = ()
    stash: str = ""
    specs: tuple[str, ...] = ()
    asks: bool = True
