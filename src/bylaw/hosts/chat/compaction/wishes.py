"""Read the attributes `keep` and `strategy` of `<compact>` (CM-A30)."""

from __future__ import annotations

import re
from enum import StrEnum

from msgspec import Struct

from bylaw.hosts.chat.compaction.failing import CompactionError
from bylaw.model.visible import brief
from bylaw.model.vocabulary import ROLES, Role

_LATEST = re.compile(r"latest:([0-9]{1,9})")


class Strategy(StrEnum):
    """What happens to messages that `keep` does not keep."""

    RELEVANCE = "relevance"
    SUMMARY = "summary"


class Keep(Struct, frozen=True):
    """Messages of these roles stay, and the `latest` ones of the other roles."""

    roles: frozenset[Role]
    latest: int


def read_keep(text: str) -> Keep:
    """Read a value such as `system,developer,latest:6`. The largest of several `latest` applies."""
    roles: set[Role] = set()
    latest = 0
    for item in _items(text, ","):
        if item in ROLES:
            roles.add(ROLES[item])
        elif found := _LATEST.fullmatch(item):
            latest = max(latest, int(found[1]))
        else:
            raise CompactionError(f"unknown value `{brief(item)}` in `keep`")
    return Keep(frozenset(roles), latest)


def read_strategy(text: str) -> frozenset[Strategy]:
    """Read a value such as `relevance+summary`."""
    try:
        return frozenset(Strategy(item) for item in _items(text, "+"))
    except ValueError:
        raise CompactionError(f"unknown strategy `{brief(text)}`") from None


def _items(text: str, between: str) -> list[str]:
    return [item.strip() for item in text.split(between)]
