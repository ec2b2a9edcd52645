"""The names of the language and of its two rule groups."""

from __future__ import annotations

NAME = "chatmd"
POLICY_GROUP, RULES_GROUP = "policy", "rules"
