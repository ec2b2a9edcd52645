"""The host that checks file policies without an agent, for `bylaw policies run`."""

from __future__ import annotations

from bylaw.hosts.worktree.policy_host import FilePolicies
from bylaw.runtime.effects import WORKTREE

SESSION = WORKTREE


class WorkTreeHost(FilePolicies):
    """File policies alone: no transcript and no other effects."""

    name = WORKTREE
    scribe = None
