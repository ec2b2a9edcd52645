"""How the language and the groups of its rules are called."""

from __future__ import annotations

NAME = "chatmd"
POLICY_GROUP, RULES_GROUP = "policy", "rules"
