"""Print what file policies do with a path, and the entries of the policy queue.

File names and commands are escaped and cut, so that they cannot move the cursor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.languages.file_policies.evaluation import RESULT_NOTHING_TO_RUN
from bylaw.languages.file_policies.syntax import Mode
from bylaw.model.display import display_file, display_text, number_of, wrap
from bylaw.model.paint import Paint, Style
from bylaw.model.vocabulary import EntryStatus
from bylaw.report.policies import FileRole, PolicyStatus
from bylaw.report.printers.layout import align, cut, fit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bylaw.report.policies import PatternHit, PolicyExplanation

MIN_EXPLANATION_WIDTH = 40  # columns
MAX_OTHERS = 10  # policies that do not match a file
MAX_LINES = 8  # of one sentence
_EXPLANATION_STYLES = {
    PolicyStatus.FIRES: Style.WARNING,
    PolicyStatus.FAILED: Style.WARNING,
    PolicyStatus.SATISFIED: Style.GOOD,
    PolicyStatus.NOTHING_TO_RUN: Style.GOOD,
    PolicyStatus.SETTLED: Style.GOOD,
}
_BASELINES = {
    "base": "since its branch began",
    "default_tip": "against the default branch",
    "prompt": "since the last prompt",
}


def explanations_data(path: str, told: Sequence[PolicyExplanation]) -> dict[str, object]:
    """Return the explanations as data for JSON."""
    return {"path": path, "policies": [_explanation_data(one) for one in told]}


def _explanation_data(one: PolicyExplanation) -> dict[str, object]:
    policy = one.known.policy
    return {
        "policy": policy.id,
        "title": policy.title,
        "file": one.known.path,
        "mode": policy.mode.value,
        "compare_to": policy.compare_to.value,
        "command": policy.action.command if policy.action else None,
        "says": one.says.value,
        "why": describe_result(one),
        "changed": one.status or None,
        "hits": [
            {"role": hit.role.value, "pattern": hit.pattern, "captures": dict(hit.captures)}
            for hit in one.hits
        ],
        "expects": [{"path": want.path, "changed": want.changed} for want in one.expects],
    }


def render_explanations(
    path: str, told: Sequence[PolicyExplanation], columns: int, *, color: bool
) -> str:
    """Print a file, each policy that matches it, and the policies that do not."""
    lines = _ExplanationLines(max(columns, MIN_EXPLANATION_WIDTH), Paint(color))
    return "".join(f"{line}\n" for line in lines.of(path, told))


class _ExplanationLines:
    def __init__(self, limit: int, paint: Paint) -> None:
        self._limit = limit
        self._paint = paint

    def of(self, path: str, told: Sequence[PolicyExplanation]) -> Iterator[str]:
        yield self._paint(Style.STRONG, display_file(path))
        looking = [one for one in told if one.matches]
        for one in looking:
            yield from self._about(one)
        if not looking:
            yield "  no policy matches it" if told else "  there are no policies"
        yield from self._others([one for one in told if not one.matches])

    def _about(self, one: PolicyExplanation) -> Iterator[str]:
        policy = one.known.policy
        title = "" if policy.title == policy.id else f" ({display_text(policy.title)})"
        yield f"  {self._paint(Style.STRONG, display_text(policy.id))}{title}"
        for hit in one.hits:
            yield from self._wrapped(_pattern_line(hit, policy.mode))
        for want in one.expects:
            yield from self._wrapped(f"expects {display_file(want.path)}{_CHANGED[want.changed]}")
        style = _EXPLANATION_STYLES.get(one.says, Style.PLAIN)
        yield from (self._paint(style, line) for line in self._wrapped(describe_result(one)))

    def _others(self, others: Sequence[PolicyExplanation]) -> Iterator[str]:
        if others:
            yield "  not matched by:"
        for one in others[:MAX_OTHERS]:
            yield from self._wrapped(f"{display_text(one.known.policy.id)}: {describe_result(one)}")
        if len(others) > MAX_OTHERS:
            yield f"    and {len(others) - MAX_OTHERS:,} more; see --format json"

    def _wrapped(self, words: str) -> Iterator[str]:
        return (f"    {line}" for line in wrap(words, self._limit - 4, MAX_LINES))


_CHANGED = {True: ", which also changed", False: ", which did not change", None: ""}


def _pattern_line(hit: PatternHit, mode: Mode) -> str:
    key = {FileRole.TRIGGER: mode.value, FileRole.SAFETY: "safety", FileRole.EXPECTED: "expects"}[
        hit.role
    ]
    found = ", ".join(f"{name} = {display_text(value)}" for name, value in hit.captures.items())
    return f"{key} {display_text(hit.pattern)}" + (f"  with {found}" if found else "")


def describe_result(one: PolicyExplanation) -> str:
    """Describe the result of a policy in one sentence."""
    policy = one.known.policy
    since = _BASELINES[policy.compare_to.value]
    because = ", ".join(display_file(file) for file in one.because)
    match one.says:
        case PolicyStatus.FIRES:
            does = "runs its command" if policy.action else "notifies the agent"
            what = "is new" if policy.mode is Mode.CREATED else "changed"
            return f"it {what} {since}: the policy {does}"
        case PolicyStatus.SATISFIED:
            return f"satisfied: {because} also changed" if because else "satisfied"
        case PolicyStatus.NO_MATCH:
            patterns = (*policy.trigger, *policy.safety, *policy.expects)
            return "no pattern matches: " + ", ".join(
                f"`{display_text(text)}`" for text in patterns
            )
        case PolicyStatus.OFF:
            return f"the policy is disabled; `bylaw rules enable {policy.id}` enables it"
    return _SENTENCES[one.says].format(since=since, because=because)


_SENTENCES = {
    PolicyStatus.FAILED: (
        "it changed {since}: the command failed; it runs again when a file changes"
    ),
    PolicyStatus.NOTHING_TO_RUN: RESULT_NOTHING_TO_RUN,
    PolicyStatus.SETTLED: "nothing to do: the entry of this change is {because}",
    PolicyStatus.UNCHANGED: "it did not change {since}, so it does not trigger the policy",
    PolicyStatus.NOT_NEW: "it is not new {since}, and the policy checks only new files",
    PolicyStatus.SAFETY: "if it changes, the policy does not fire",
    PolicyStatus.EXPECTED: "expected when its trigger changes; it does not trigger the policy",
    PolicyStatus.UNKNOWN: "the changes {since} are not known",
}


MIN_QUEUE_WIDTH = 60  # columns
MAX_FILES = 3  # of one entry, unless all files are shown
MAX_WHY_LINES = 4
# Entries that need attention are first.
STATUS_ORDER = (EntryStatus.FAILED, EntryStatus.QUEUED, EntryStatus.PASSED, EntryStatus.SKIPPED)
_STATUS_STYLES = {EntryStatus.FAILED: Style.BAD, EntryStatus.QUEUED: Style.WARNING}
_SPANS = ((86_400, "day"), (3_600, "hour"), (60, "minute"))


class QueueRow(Struct, frozen=True):
    """An entry of the table. `age` is in seconds, `why` is the result of a command or check.

    `runs` are printed only if the complete entry is shown.
    """

    policy: str
    hash: str
    status: EntryStatus
    age: float
    shown: int
    files: tuple[str, ...]
    missing: tuple[str, ...]
    why: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()


class QueueTable(Struct, frozen=True):
    """Entries, their number in each state, and the current message of one selected policy.

    `limit` is the number of entries shown for each state.
    """

    rows: Sequence[QueueRow]
    counts: Mapping[EntryStatus, int]
    limit: int
    lines: Sequence[str] = ()
    all_files: bool = False


def ago(seconds: float) -> str:
    """Return for example `5 minutes ago`."""
    for length, word in _SPANS:
        if seconds >= length:
            return f"{number_of(int(seconds // length), word)} ago"
    return "just now"


def render_queue(table: QueueTable, columns: int, *, color: bool) -> str:
    """Print the counts, then a section for each state."""
    lines = _QueueLines(table, max(columns, MIN_QUEUE_WIDTH), Paint(color))
    return "".join(f"{line}\n" for line in lines.all())


class _QueueLines:
    def __init__(self, table: QueueTable, limit: int, paint: Paint) -> None:
        self._table = table
        self._limit = limit
        self._paint = paint

    def all(self) -> Iterator[str]:
        counts = self._table.counts
        yield ", ".join(f"{counts.get(status, 0):,} {status}" for status in STATUS_ORDER)
        for status in STATUS_ORDER:
            yield from self._section(status)
        if self._table.lines:
            yield from ("", self._paint(Style.STRONG, "current message"))
            yield from (f"  {line}".rstrip() for line in self._table.lines)

    def _section(self, status: EntryStatus) -> Iterator[str]:
        rows = [row for row in self._table.rows if row.status is status]
        if not rows:
            return
        yield from ("", self._paint(_STATUS_STYLES.get(status, Style.STRONG), status))
        told = rows[: self._table.limit]
        cells = [(display_text(row.policy), row.hash, _age_words(row)) for row in told]
        room = self._limit - 2
        for row, line in zip(told, align(fit(cells, room, (0,), ())), strict=True):
            yield f"  {cut(line, room)}"
            yield from self._below(row)
        if len(rows) > len(told):
            yield f"  and {len(rows) - len(told):,} more; see --limit"

    def _below(self, row: QueueRow) -> Iterator[str]:
        yield from self._paths("", row.files)
        yield from self._paths("missing: ", row.missing)
        for line in (*row.why, *(row.runs if self._table.all_files else ())):
            yield from (f"    {one}" for one in wrap(line, self._limit - 4, MAX_WHY_LINES))

    def _paths(self, head: str, paths: Sequence[str]) -> Iterator[str]:
        most = len(paths) if self._table.all_files else MAX_FILES
        for path in paths[:most]:
            yield f"    {head}{cut(display_file(path), self._limit - 4 - len(head), at_start=True)}"
        if len(paths) > most:
            yield f"    {head}and {len(paths) - most:,} more; name the policy to see all"


def _age_words(row: QueueRow) -> str:
    times = f", shown {number_of(row.shown, 'time')}" if row.shown else ""
    return f"{ago(row.age)}{times}"
