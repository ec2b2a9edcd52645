"""TOML rules: one file a rule with `[rule]`, `[condition]`, `[action]` → rules that observe.

    text → read (reader.py) → the rule as written (written.py) → lowered (lowering.py)

They never block (TR-A21): they notify, log, set state and emit events.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from bylaw.dialects.base import BesideError, Loaded, Start, Visit, WhenBroken
from bylaw.dialects.toml import read_toml
from bylaw.dialects.toml_rules.lowering import PROCEDURE, lowered
from bylaw.dialects.toml_rules.reader import ID, read_rules
from bylaw.dialects.toml_rules.written import from_note, to_note
from bylaw.model.codes.toml_rules import (
    BAD_SCRIPT,
    DUPLICATE_RULE_ID,
    LUA_SYNTAX,
    NO_LUA,
    RULE_FILE_NAME,
)
from bylaw.model.diagnostic import error, has_errors, warning
from bylaw.model.errors import LoadError
from bylaw.model.procedure import Group
from bylaw.model.verdict import Verdict
from bylaw.model.visible import brief
from bylaw.model.vocabulary import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.dialects.base import RuleFile
    from bylaw.dialects.toml_rules.written import WrittenRule
    from bylaw.model.codes import Code
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.procedure import Book
    from bylaw.model.source import SourceFile

name = "toml"
spec = "TOML Rule Format (rule, condition, action)"
suffixes = (".toml",)
common_ending = False
one_book_per_file = False
GROUP = "rules"
# Its author learns of it with the next thing that happens, whatever that is.
when_broken = WhenBroken(
    group=GROUP,
    kinds=(
        *(Kind.PROMPT, Kind.TURN_START, Kind.TURN_END, Kind.TOOL_BEFORE),
        *(Kind.TOOL_AFTER, Kind.SESSION_END),
    ),
    verdict=Verdict.WARN,
    once=True,
)
# In a text that is no TOML; `True` instead of `true` may be what is wrong with it.
_CORE = re.compile(
    r"""^[^#\n]*?(?<![\w-])core["']?[ \t]*=[ \t]*["']?true\b""", re.MULTILINE | re.IGNORECASE
)
SCRIPT_SUFFIX = ".lua"
_MAX_OTHERS_SHOWN = 3


def detect(source: SourceFile) -> bool:
    """Whether it has the section that every rule has."""
    try:
        return "rule" in read_toml(source).values
    except LoadError:
        return True  # to be told what is wrong with it


def rule_text(source: SourceFile) -> str:
    """All of it."""
    return source.text


def in_own_words(finding: Diagnostic) -> Diagnostic:
    """The codes of the reader are as good as any."""
    return finding


def refuses_set(source: SourceFile) -> bool:
    """Whether the file wants to be core (TR-A12), however it writes `true`."""
    try:
        rule = read_toml(source).values.get("rule")
    except LoadError:
        return _CORE.search(source.text) is not None
    if not isinstance(rule, dict):  # the section itself is misspelt
        return _CORE.search(source.text) is not None
    return str(rule.get("core")).lower() == "true"


def starts(book: Book, files: Sequence[RuleFile]) -> Sequence[Start]:  # noqa: ARG001 - see below
    """Nothing: scripts run in the worker of Bylaw itself."""
    return ()


def load(files: Sequence[RuleFile]) -> Loaded:
    """The rules of all files."""
    read = _read(files)
    for one in read:
        _check_surroundings(one)
    _refuse_duplicates(read)
    rules = [lowered(rule, one.file, name, one.script) for one in read if (rule := one.rule)]
    return Loaded(
        groups=(Group(GROUP, Visit.TOML_RULES, PROCEDURE, tuple(rules)),),
        diagnostics=tuple(finding for one in read for finding in one.findings),
        notes={one.file.digest: one.note for one in read if one.note and one.rule},
    )


@dataclass
class _Read:
    """A file, the rule in it, and what is wrong; `note` if nothing is wrong with its text."""

    file: RuleFile
    written: WrittenRule | None
    findings: list[Diagnostic] = field(default_factory=list)
    note: bytes = b""
    script: str = ""

    @property
    def rule(self) -> WrittenRule | None:
        """The rule, unless something is wrong."""
        return None if has_errors(self.findings) else self.written

    def refuse(self, code: Code, headline: str, *path: str, help_: str = "") -> None:
        """Note an error about the value that stands at a path."""
        span = read_toml(self.file.source).value_span(*path)
        self.findings.append(error(code, headline, self.file.source, span, help=help_))


def _read(files: Sequence[RuleFile]) -> list[_Read]:
    """Each file, from what was noted of it or else from its text."""
    known = [from_note(file.known) if file.known else None for file in files]
    new = [file.source for file, rule in zip(files, known, strict=True) if rule is None]
    results = iter(read_rules(new))
    return [
        _Read(file, rule, note=file.known) if rule else _read_anew(file, *next(results))
        for file, rule in zip(files, known, strict=True)
    ]


def _read_anew(file: RuleFile, rule: WrittenRule | None, findings: list[Diagnostic]) -> _Read:
    return _Read(file, rule, findings, to_note(rule) if rule and not findings else b"")


def _check_surroundings(one: _Read) -> None:
    """Check what the text alone cannot tell: the name of its file, and its script."""
    if one.written is not None:
        _check_file_name(one, one.written.id)
        if one.written.script:
            _read_script(one, one.written.script)


def _check_file_name(one: _Read, rule_id: str) -> None:
    file_name = one.file.path.rpartition("/")[2]
    wanted = rule_id + suffixes[0]
    if file_name == wanted or has_errors(one.findings):
        return
    headline = (
        f"the file is called `{file_name}`, its rule `{rule_id}`"
        if ID.fullmatch(file_name.removesuffix(suffixes[0]))
        else f"the file name `{file_name}` is not in kebab-case with the ending `{suffixes[0]}`"
    )
    span = read_toml(one.file.source).value_span("rule", "id")
    help_ = f"rename the file to `{wanted}`"
    one.findings.append(warning(RULE_FILE_NAME, headline, one.file.source, span, help=help_))


def _read_script(one: _Read, path: str) -> None:
    from bylaw.expr.lua_syntax import lua_available, lua_problem  # noqa: PLC0415 - few rules have one

    at = ("condition", "script")
    if not path.endswith(SCRIPT_SUFFIX):
        one.refuse(BAD_SCRIPT, f"`{brief(path)}` does not end in `{SCRIPT_SUFFIX}`", *at)
        return
    try:
        one.script = one.file.beside.read(path)
    except BesideError as problem:
        help_ = "the path counts from the folder of this file, and must stay below it"
        one.refuse(BAD_SCRIPT, str(problem), *at, help_=help_)
        return
    if not lua_available():
        help_ = "install `bylaw[lua]`, or write an `expression`"
        one.refuse(NO_LUA, "this rule needs Lua, which is not installed", *at, help_=help_)
    elif problem_found := lua_problem(one.script):
        headline = f"`{path}`, line {problem_found.line}: {problem_found.message}"
        one.refuse(LUA_SYNTAX, headline, *at, help_="mend the script")


def _others(same: Sequence[_Read], one: _Read) -> str:
    others = (f"`{other.file.path}`" for other in same if other is not one)
    more = len(same) - 1 - _MAX_OTHERS_SHOWN
    return ", ".join(islice(others, _MAX_OTHERS_SHOWN)) + (f" and {more} more" if more > 0 else "")


def _refuse_duplicates(read: Sequence[_Read]) -> None:
    """Two rules of one id: none of them is in force, and each names the other (TR-A13)."""
    by_id: dict[str, list[_Read]] = {}
    for one in read:
        if rule := one.rule:
            by_id.setdefault(rule.id, []).append(one)
    for rule_id, same in by_id.items():
        for one in same if len(same) > 1 else ():
            headline = f"the id `{rule_id}` is also that of {_others(same, one)}"
            one.refuse(DUPLICATE_RULE_ID, headline, "rule", "id", help_="give each its own id")
