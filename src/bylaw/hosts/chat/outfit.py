"""The parts of one chat that its driver works with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from bylaw.engine.index import RuleSet
    from bylaw.hosts.chat.call_ids import CallIds
    from bylaw.hosts.chat.chat_host import RunAgent
    from bylaw.hosts.chat.context_news import ContextNews
    from bylaw.hosts.chat.messages import Options
    from bylaw.hosts.chat.models.base import Model
    from bylaw.hosts.chat.toolbox import Toolbox
    from bylaw.hosts.worktree.policy_host import FilePolicies


class Outfit(Struct, frozen=True, kw_only=True):
    """The parts of one chat that its driver works with.

    `withholds`: a rule may withhold an output, so nothing is shown before it is decided.
    `max_blocks` is how many times a stop can be blocked.
    """

    model: Model
    tools: Toolbox
    options: Options
    run_agent: RunAgent
    call_ids: CallIds
    news: ContextNews
    max_blocks: int
    withholds: bool
    policies: FilePolicies
    rules: RuleSet
