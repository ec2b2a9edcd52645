"""The world of a work tree alone: an agent stopped, and what its policies say is collected."""

from __future__ import annotations

from bylaw.hosts.worktree.policy_host import FilePolicies
from bylaw.runtime.effects import WORKTREE

SESSION = WORKTREE


class WorkTreeHost(FilePolicies):
    """File policies, and nothing beside them."""

    name = WORKTREE
    scribe = None
