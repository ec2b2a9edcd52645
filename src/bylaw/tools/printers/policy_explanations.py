"""Print what file policies do with a path, as text or as data for JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.dialects.file_policies.judging import NOTHING_TO_RUN
from bylaw.dialects.file_policies.written import Mode
from bylaw.tools.policies.explaining import FileRole, Says
from bylaw.tools.printers.paint import Paint, Style
from bylaw.tools.printers.wording import shown, shown_file, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bylaw.tools.policies.explaining import Explanation, PatternHit

LEAST = 40  # columns
MAX_OTHERS = 10  # policies that do not match a file
MAX_LINES = 8  # of one sentence
_STYLES = {
    Says.FIRES: Style.WARNING,
    Says.FAILED: Style.WARNING,
    Says.SATISFIED: Style.GOOD,
    Says.NOTHING_TO_RUN: Style.GOOD,
    Says.SETTLED: Style.GOOD,
}
_BASELINES = {
    "base": "since its branch began",
    "default_tip": "against the default branch",
    "prompt": "since the last prompt",
}


def as_data(path: str, told: Sequence[Explanation]) -> dict[str, object]:
    """Return the explanations as data for JSON."""
    return {"path": path, "policies": [_as_data(one) for one in told]}


def _as_data(one: Explanation) -> dict[str, object]:
    policy = one.known.policy
    return {
        "policy": policy.id,
        "title": policy.title,
        "file": one.known.path,
        "mode": policy.mode.value,
        "compare_to": policy.compare_to.value,
        "command": policy.action.command if policy.action else None,
        "says": one.says.value,
        "why": sentence(one),
        "changed": one.status or None,
        "hits": [
            {"role": hit.role.value, "pattern": hit.pattern, "captures": dict(hit.captures)}
            for hit in one.hits
        ],
        "expects": [{"path": want.path, "changed": want.changed} for want in one.expects],
    }


def render(path: str, told: Sequence[Explanation], columns: int, *, color: bool) -> str:
    """Print a file, each policy that matches it, and the policies that do not."""
    lines = _Lines(max(columns, LEAST), Paint(color))
    return "".join(f"{line}\n" for line in lines.of(path, told))


class _Lines:
    def __init__(self, limit: int, paint: Paint) -> None:
        self._limit = limit
        self._paint = paint

    def of(self, path: str, told: Sequence[Explanation]) -> Iterator[str]:
        yield self._paint(Style.STRONG, shown_file(path))
        looking = [one for one in told if one.looks]
        for one in looking:
            yield from self._about(one)
        if not looking:
            yield "  no policy matches it" if told else "  there are no policies"
        yield from self._others([one for one in told if not one.looks])

    def _about(self, one: Explanation) -> Iterator[str]:
        policy = one.known.policy
        title = "" if policy.title == policy.id else f" ({shown(policy.title)})"
        yield f"  {self._paint(Style.STRONG, shown(policy.id))}{title}"
        for hit in one.hits:
            yield from self._wrapped(_pattern_line(hit, policy.mode))
        for want in one.expects:
            yield from self._wrapped(f"expects {shown_file(want.path)}{_CHANGED[want.changed]}")
        style = _STYLES.get(one.says, Style.PLAIN)
        yield from (self._paint(style, line) for line in self._wrapped(sentence(one)))

    def _others(self, others: Sequence[Explanation]) -> Iterator[str]:
        if others:
            yield "  not matched by:"
        for one in others[:MAX_OTHERS]:
            yield from self._wrapped(f"{shown(one.known.policy.id)}: {sentence(one)}")
        if len(others) > MAX_OTHERS:
            yield f"    and {len(others) - MAX_OTHERS:,} more; see --format json"

    def _wrapped(self, words: str) -> Iterator[str]:
        return (f"    {line}" for line in wrapped(words, self._limit - 4, MAX_LINES))


_CHANGED = {True: ", which also changed", False: ", which did not change", None: ""}


def _pattern_line(hit: PatternHit, mode: Mode) -> str:
    key = {FileRole.TRIGGER: mode.value, FileRole.SAFETY: "safety", FileRole.EXPECTED: "expects"}[
        hit.role
    ]
    found = ", ".join(f"{name} = {shown(value)}" for name, value in hit.captures.items())
    return f"{key} {shown(hit.pattern)}" + (f"  with {found}" if found else "")


def sentence(one: Explanation) -> str:
    """Describe the result of a policy in one sentence."""
    policy = one.known.policy
    since = _BASELINES[policy.compare_to.value]
    because = ", ".join(shown_file(file) for file in one.because)
    match one.says:
        case Says.FIRES:
            does = "runs its command" if policy.action else "notifies the agent"
            what = "is new" if policy.mode is Mode.CREATED else "changed"
            return f"it {what} {since}: the policy {does}"
        case Says.SATISFIED:
            return f"satisfied: {because} also changed" if because else "satisfied"
        case Says.NO_MATCH:
            patterns = (*policy.trigger, *policy.safety, *policy.expects)
            return "no pattern matches: " + ", ".join(f"`{shown(text)}`" for text in patterns)
        case Says.OFF:
            return f"the policy is disabled; `bylaw rules enable {policy.id}` enables it"
    return _SENTENCES[one.says].format(since=since, because=because)


_SENTENCES = {
    Says.FAILED: "it changed {since}: the command failed; it runs again when a file changes",
    Says.NOTHING_TO_RUN: NOTHING_TO_RUN,
    Says.SETTLED: "nothing to do: the entry of this change is {because}",
    Says.UNCHANGED: "it did not change {since}, so it does not trigger the policy",
    Says.NOT_NEW: "it is not new {since}, and the policy checks only new files",
    Says.SAFETY: "if it changes, the policy does not fire",
    Says.EXPECTED: "expected when its trigger changes; it does not trigger the policy",
    Says.UNKNOWN: "the changes {since} are not known",
}
