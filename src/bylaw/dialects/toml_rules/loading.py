"""TOML rule files → rules, with their scripts, and findings about both."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from msgspec import Struct, field

from bylaw.dialects.base import BesideError, Loaded, Visit
from bylaw.dialects.toml import read_toml
from bylaw.dialects.toml_rules.lowering import PROCEDURE, lowered
from bylaw.dialects.toml_rules.names import GROUP, NAME, SUFFIX
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
from bylaw.model.procedure import Group
from bylaw.model.visible import brief

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.dialects.base import RuleFile
    from bylaw.dialects.toml_rules.written import WrittenRule
    from bylaw.model.codes import Code
    from bylaw.model.diagnostic import Diagnostic

SCRIPT_SUFFIX = ".lua"
_MAX_OTHERS_SHOWN = 3


def load(files: Sequence[RuleFile]) -> Loaded:
    """Load the rules of all files."""
    read = _read_all(files)
    for one in read:
        _check_surroundings(one)
    _refuse_duplicates(read)
    rules = [lowered(rule, one.file, NAME, one.script) for one in read if (rule := one.rule)]
    return Loaded(
        groups=(Group(GROUP, Visit.TOML_RULES, PROCEDURE, tuple(rules)),),
        diagnostics=tuple(finding for one in read for finding in one.findings),
        notes={one.file.digest: one.note for one in read if one.note and one.rule},
    )


class _ReadFile(Struct):
    """A file with its rule and its findings. `note` is empty if the text has findings."""

    file: RuleFile
    written: WrittenRule | None
    findings: list[Diagnostic] = field(default_factory=list)
    note: bytes = b""
    script: str = ""

    @property
    def rule(self) -> WrittenRule | None:
        """The rule; None if the file has errors."""
        return None if has_errors(self.findings) else self.written

    def refuse(self, code: Code, headline: str, *path: str, help_: str = "") -> None:
        """Add an error about the value at a path of keys."""
        span = read_toml(self.file.source).value_span(*path)
        self.findings.append(error(code, headline, self.file.source, span, help=help_))


def _read_all(files: Sequence[RuleFile]) -> list[_ReadFile]:
    """Read each file, from its note if there is one, otherwise from its text."""
    known = [from_note(file.known) if file.known else None for file in files]
    new = [file.source for file, rule in zip(files, known, strict=True) if rule is None]
    results = iter(read_rules(new))
    return [
        _ReadFile(file, rule, note=file.known) if rule else _read_anew(file, *next(results))
        for file, rule in zip(files, known, strict=True)
    ]


def _read_anew(file: RuleFile, rule: WrittenRule | None, findings: list[Diagnostic]) -> _ReadFile:
    return _ReadFile(file, rule, findings, to_note(rule) if rule and not findings else b"")


def _check_surroundings(one: _ReadFile) -> None:
    """Check the name of the file and its script, which do not depend on the text alone."""
    if one.written is not None:
        _check_file_name(one, one.written.id)
        if one.written.script:
            _take_script(one, one.written.script)


def _check_file_name(one: _ReadFile, rule_id: str) -> None:
    file_name = one.file.path.rpartition("/")[2]
    wanted = rule_id + SUFFIX
    if file_name == wanted or has_errors(one.findings):
        return
    headline = (
        f"the file name `{file_name}` does not match the rule id `{rule_id}`"
        if ID.fullmatch(file_name.removesuffix(SUFFIX))
        else f"the file name `{file_name}` is not in kebab-case with the ending `{SUFFIX}`"
    )
    span = read_toml(one.file.source).value_span("rule", "id")
    help_ = f"rename the file to `{wanted}`"
    one.findings.append(warning(RULE_FILE_NAME, headline, one.file.source, span, help=help_))


def _take_script(one: _ReadFile, path: str) -> None:
    from bylaw.expr.lua_syntax import lua_available, lua_problem  # noqa: PLC0415 - few rules have one

    at = ("condition", "script")
    if not path.endswith(SCRIPT_SUFFIX):
        one.refuse(BAD_SCRIPT, f"`{brief(path)}` does not end in `{SCRIPT_SUFFIX}`", *at)
        return
    try:
        one.script = one.file.beside.read(path)
    except BesideError as problem:
        help_ = "the path is relative to the folder of this file and must not leave it"
        one.refuse(BAD_SCRIPT, str(problem), *at, help_=help_)
        return
    if not lua_available():
        help_ = "install `bylaw[lua]`, or write an `expression`"
        one.refuse(NO_LUA, "this rule needs Lua, which is not installed", *at, help_=help_)
    elif problem_found := lua_problem(one.script):
        headline = f"`{path}`, line {problem_found.line}: {problem_found.message}"
        one.refuse(LUA_SYNTAX, headline, *at, help_="fix the script")


def _others(same: Sequence[_ReadFile], one: _ReadFile) -> str:
    others = (f"`{other.file.path}`" for other in same if other is not one)
    more = len(same) - 1 - _MAX_OTHERS_SHOWN
    return ", ".join(islice(others, _MAX_OTHERS_SHOWN)) + (f" and {more} more" if more > 0 else "")


def _refuse_duplicates(read: Sequence[_ReadFile]) -> None:
    """Report rules with the same id. None of them is used, and each names the others (TR-A13)."""
    by_id: dict[str, list[_ReadFile]] = {}
    for one in read:
        if rule := one.rule:
            by_id.setdefault(rule.id, []).append(one)
    for rule_id, same in by_id.items():
        for one in same if len(same) > 1 else ():
            headline = f"duplicate rule id `{rule_id}`, also in {_others(same, one)}"
            one.refuse(DUPLICATE_RULE_ID, headline, "rule", "id", help_="change one of the ids")
