"""Write a file policy as text, and read such a text with all its errors."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from unicodedata import normalize

from bylaw.dialects.file_policies.reader import MAX_NAME, read_policy
from bylaw.dialects.file_policies.written import CompareTo, Mode
from bylaw.model.diagnostic import has_errors
from bylaw.model.errors import PolicyError
from bylaw.model.source import SourceFile
from bylaw.tools.context.yaml_scalars import inline

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bylaw.dialects.file_policies.written import WrittenPolicy
    from bylaw.model.diagnostic import Diagnostic

_NO_WORD = re.compile(r"[\W_]+")


def kebab(title: str) -> str:
    """Convert a title to a file name: `README Accuracy` → `readme-accuracy`. May be empty."""
    words = _NO_WORD.sub("-", normalize("NFC", title).lower()).strip("-")
    return words[:MAX_NAME].rstrip("-")


def policy_text(policy: WrittenPolicy) -> str:
    """Return the text of a policy file, without keys that have their default."""
    body = f"{policy.body}\n" if policy.body else ""
    return "\n".join(["---", *_front_matter(policy), "---", body])


def checked(path: str, text: str) -> tuple[WrittenPolicy, list[Diagnostic]]:
    """Read a policy and its warnings from a text. Raise PolicyError if it does not load."""
    policy, findings = read_policy(SourceFile(path, text))
    if policy is None or has_errors(findings):
        raise PolicyError(findings)
    return policy, findings


def _front_matter(policy: WrittenPolicy) -> Iterator[str]:
    if policy.title != policy.id:
        yield f"name: {inline(policy.title)}"
    if policy.mode is Mode.PAIR:
        yield "pair:"
        yield from _listed("trigger", policy.trigger, "  ")
        yield from _listed("expects", policy.expects, "  ")
    else:
        yield from _listed(policy.mode, policy.trigger)
    yield from _listed("safety", policy.safety)
    if policy.action is not None:
        yield "action:"
        yield f"  command: {inline(policy.action.command)}"
        yield f"  run_for: {policy.action.run_for}"
    if policy.compare_to is not CompareTo.BASE:
        yield f"compare_to: {policy.compare_to}"


def _listed(key: str, patterns: Sequence[str], indent: str = "") -> Iterator[str]:
    """Write one pattern on the line of its key, several below it."""
    if len(patterns) == 1 and key != Mode.SET:
        yield f"{indent}{key}: {inline(patterns[0])}"
    elif patterns:
        yield f"{indent}{key}:"
        yield from (f"{indent}  - {inline(one)}" for one in patterns)
