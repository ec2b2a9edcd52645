"""The attributes `keep` and `strategy` of `<compact>` → what they ask for (CM-A30)."""

from __future__ import annotations

import re
from enum import StrEnum

from msgspec import Struct

from bylaw.hosts.chat.compaction.failing import CompactionError
from bylaw.model.visible import brief
from bylaw.model.vocabulary import ROLES, Role

_LATEST = re.compile(r"latest:([0-9]{1,9})")


class Strategy(StrEnum):
    """What is done with messages that `keep` does not keep."""

    RELEVANCE = "relevance"
    SUMMARY = "summary"


class Keep(Struct, frozen=True):
    """Messages of these roles stay, and the latest ones of the others."""

    roles: frozenset[Role]
    latest: int


def read_keep(text: str) -> Keep:
    """As in `system,developer,latest:6`; of several `latest` the largest counts."""
    roles: set[Role] = set()
    latest = 0
    for item in _items(text, ","):
        if item in ROLES:
            roles.add(ROLES[item])
        elif found := _LATEST.fullmatch(item):
            latest = max(latest, int(found[1]))
        else:
            raise CompactionError(f"`keep` does not know `{brief(item)}`")
    return Keep(frozenset(roles), latest)


def read_strategy(text: str) -> frozenset[Strategy]:
    """As in `relevance+summary`."""
    try:
        return frozenset(Strategy(item) for item in _items(text, "+"))
    except ValueError:
        raise CompactionError(f"there is no strategy `{brief(text)}`") from None


def _items(text: str, between: str) -> list[str]:
    return [item.strip() for item in text.split(between)]
