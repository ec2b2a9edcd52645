"""A message of the bus, of any form → its problems as texts (LD-022 to LD-038).

This is the check `message-schema`. The keys are a closed list; each has one test for its value.
Strict mode denies every problem. Relaxed mode allows three kinds of problems that cannot cause
anything to run, and records them (LD-A02).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from bylaw.languages.law.syntax import PHASES, Category, CommandType
from bylaw.model.display import brief, clip_text, visible
from bylaw.model.suggest import nearest_name
from bylaw.model.values import as_text
from bylaw.model.vocabulary import Authority, PolicyMode
from bylaw.paths import normalise_foreign

if TYPE_CHECKING:
    from enum import StrEnum

    from bylaw.model.facts import LawFacts
    from bylaw.model.values import JSON

COMMAND = "command"
EVIDENCE = "evidence"
DECISION = "decision"

MAX_MESSAGE_ID = 120  # characters: the id is part of file names, which have at most 255 bytes
MAX_TEXT = 100_000  # characters of `notes`
MAX_LINE = 4_096  # characters of any other text
MAX_TARGETS = 1_000
MAX_RUN = 100  # commands of one message
MAX_COMMAND = 10_000  # characters of one of them
MAX_PROBLEMS = 20  # in one reason
_MAX_UNREADABLE = 1_000
_MAX_VALUE = 200

# The slug may contain `_`, the agent may not, so an id can be split in only one way (LD-A06).
_ID = re.compile(
    r"([0-9]{4})([0-9]{2})([0-9]{2})_([0-9]{2})([0-9]{2})([0-9]{2})"
    r"_[A-Za-z0-9-]+_[A-Za-z0-9][A-Za-z0-9_-]*"
)

# Returns the problem of a value, or an empty text.
Test: TypeAlias = Callable[[Any], str]


class MessageCheck(Struct, frozen=True):
    """The problems of a message: those that deny it, and those that relaxed mode allows."""

    refused: tuple[str, ...] = ()
    forgiven: tuple[str, ...] = ()


def check_message(message: JSON, facts: LawFacts) -> MessageCheck:
    """Return all problems of a message. Rules apply only to a message without problems."""
    if facts.unreadable:
        return MessageCheck((visible(clip_text(facts.unreadable, _MAX_UNREADABLE)),))
    if not isinstance(message, dict):
        return MessageCheck(("it must be a mapping of keys to values",))
    if message.get("msg_type") == EVIDENCE:
        # Evidence is archived, and no rule applies to it (LD-A17).
        return MessageCheck(tuple(_wrong_value("msg_id", message)))
    refused = [*_wrong_values(message), *_outside(facts)]
    doubtful = [*_missing_texts(message), *_phase_problem(message, facts), *_unknown_keys(message)]
    if facts.policy_mode is PolicyMode.RELAXED:
        return MessageCheck(_limited(refused), _limited(doubtful))
    return MessageCheck(_limited([*refused, *doubtful]))


def is_request(message: JSON) -> bool:
    """Return whether it is an approval request, which stays in the bus until it is answered."""
    kind = message.get("command_type") if isinstance(message, dict) else None
    return kind == CommandType.APPROVAL_REQUEST


def is_decision(message: JSON) -> bool:
    """Return whether it claims to be a decision. Decisions are forbidden in the bus (LD-026)."""
    kind = message.get("msg_type") if isinstance(message, dict) else None
    return isinstance(kind, str) and kind.strip().casefold() == DECISION


def is_message_id(value: object) -> bool:
    """Return whether it is `YYYYMMDD_HHMMSS_<agent>_<slug>` with a valid date and time."""
    if not isinstance(value, str) or len(value) > MAX_MESSAGE_ID:
        return False
    found = _ID.fullmatch(value)
    return found is not None and is_valid_time(*found.groups())


def is_valid_time(*parts: str) -> bool:
    """Return whether year, month, day, hour, minute and second are a valid time."""
    year, month, day, hour, minute, second = map(int, parts)
    try:
        datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return False
    return True


def _wrong_values(message: dict[str, JSON]) -> Iterator[str]:
    for key in _KEYS:
        if key in message:
            yield from _wrong_value(key, message)
        elif key in _REQUIRED:
            yield f"`{key}` is missing"


def _wrong_value(key: str, message: dict[str, JSON]) -> Iterator[str]:
    if wrong := _KEYS[key](message.get(key)):
        yield f"`{key}` {wrong}"


def _outside(facts: LawFacts) -> Iterator[str]:
    for path in facts.outside:
        yield f"`target_paths`: `{_text(path)}` is outside the root"


def _missing_texts(message: dict[str, JSON]) -> Iterator[str]:
    return (f"`{key}` is missing" for key in _TEXT_KEYS if key not in message)


def _phase_problem(message: dict[str, JSON], facts: LawFacts) -> Iterator[str]:
    """Yield a problem if the phase is not the active one (LD-A03). Requests may have any phase."""
    phase = message.get("phase")
    if is_request(message) or _phase(phase):
        return
    if isinstance(facts.phase, int) and phase != facts.phase:
        yield f"`phase` is {phase}, but the active phase is {facts.phase}"


def _unknown_keys(message: dict[str, JSON]) -> Iterator[str]:
    for key in message:
        if key not in _KEYS:
            near = nearest_name(key, _KEYS)
            meant = f" (did you mean `{near}`?)" if near else ""
            yield f"unknown key `{_text(key)}`{meant}"


def _limited(problems: list[str]) -> tuple[str, ...]:
    if len(problems) <= MAX_PROBLEMS:
        return tuple(problems)
    return (*problems[:MAX_PROBLEMS], f"and {len(problems) - MAX_PROBLEMS:,} more")


def _text(value: str) -> str:
    return visible(brief(value))


def _describe(value: Any) -> str:
    """Describe a value for a message. The items of lists and mappings are not shown."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    text = as_text(value)
    if value is None or not text.strip():
        return "nothing" if value is None else "an empty text"
    padded = " with spaces around it" if text != text.strip() else ""
    return f"`{_text(clip_text(text, _MAX_VALUE))}`{padded}"


def _problem_unless(fits: object, wanted: str, value: Any) -> str:
    return "" if fits else f"must be {wanted}, not {_describe(value)}"


def _one_of(words: type[StrEnum]) -> Test:
    wanted = " or ".join(f"`{word.value}`" for word in words)
    known = {word.value for word in words}
    return lambda value: _problem_unless(isinstance(value, str) and value in known, wanted, value)


def _id(value: Any) -> str:
    return _problem_unless(is_message_id(value), "`YYYYMMDD_HHMMSS_<agent>_<slug>`", value)


def _type(value: Any) -> str:
    known = isinstance(value, str) and value in {COMMAND, EVIDENCE}
    return _problem_unless(known, f"`{COMMAND}` or `{EVIDENCE}`", value)


def _phase(value: Any) -> str:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return _problem_unless(whole and value in PHASES, "a whole number from 0 to 4", value)


def _flag(value: Any) -> str:
    return _problem_unless(isinstance(value, bool), "true or false", value)


def _text_up_to(most: int, *, filled: bool = False) -> Test:
    wanted = f"a text of {int(filled)} to {most:,} characters"

    def test(value: Any) -> str:
        fits = isinstance(value, str) and len(value) <= most and (value.strip() or not filled)
        return _problem_unless(fits, wanted, value)

    return test


def _targets(value: Any) -> str:
    fits = isinstance(value, list) and len(value) <= MAX_TARGETS
    if not fits:
        return _problem_unless(fits, f"a list of at most {MAX_TARGETS:,} paths", value)
    wrong = [one for one in value if not _is_inside(one)]
    return f"must be inside the root, but {_describe(wrong[0])} is not" if wrong else ""


def _is_inside(path: Any) -> bool:
    return isinstance(path, str) and normalise_foreign(path) is not None


def _commands(value: Any) -> str:
    fits = isinstance(value, list) and len(value) <= MAX_RUN
    if not fits:
        return _problem_unless(fits, f"a list of at most {MAX_RUN} commands", value)
    wrong = [text for one in value if (text := _command(one))]
    return f"contains a command that {wrong[0]}" if wrong else ""


def _authorities(value: Any) -> str:
    known = {one.value for one in Authority}
    fits = isinstance(value, list) and all(isinstance(one, str) and one in known for one in value)
    return "" if fits else "must be a list of " + " and ".join(f"`{word}`" for word in Authority)


_command = _text_up_to(MAX_COMMAND, filled=True)
# All keys that a message may have.
_KEYS: dict[str, Test] = {
    "msg_id": _id,
    "msg_type": _type,
    "command_type": _one_of(CommandType),
    "phase": _phase,
    "category": _one_of(Category),
    "title": _text_up_to(MAX_LINE),
    "target_paths": _targets,
    "run": _commands,
    "requires_approval": _flag,
    "approval_by": _authorities,
    "origin_ref": _text_up_to(MAX_LINE),
    "created_by": _text_up_to(MAX_LINE, filled=True),
    "notes": _text_up_to(MAX_TEXT),
}
_TEXT_KEYS = ("title", "notes")
_OPTIONAL = ("run", "requires_approval", "approval_by")
_REQUIRED = frozenset(_KEYS) - frozenset((*_TEXT_KEYS, *_OPTIONAL))
