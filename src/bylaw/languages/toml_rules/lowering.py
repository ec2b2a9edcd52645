"""TOML rule files → rules that the engine runs, with their scripts, and findings.

A rule with a Lua script has a guard that needs the result of the script. The guard does not run the
script: it asks for the result and names the values that the script reads. The host runs the script
in a separate process and puts the result on the event.
"""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, Struct, field

from bylaw.expr.expression import load_checked_condition
from bylaw.expr.views import CONTEXT, ExpressionGuard, condition_reader, context_values
from bylaw.languages.base import LoadResult, SiblingFileError, VisitOrder
from bylaw.languages.toml import read_toml
from bylaw.languages.toml_rules import GROUP, NAME, SUFFIX
from bylaw.languages.toml_rules.actions import step_maker
from bylaw.languages.toml_rules.reader import ID, read_rules
from bylaw.languages.toml_rules.syntax import Hook, from_note, to_note
from bylaw.model.codes.runtime import FACT_UNKNOWN
from bylaw.model.codes.toml_rules import (
    BAD_SCRIPT,
    DUPLICATE_RULE_ID,
    LUA_SYNTAX,
    NO_LUA,
    RULE_FILE_NAME,
    SCRIPT_FAILED,
    SCRIPT_KILLED,
)
from bylaw.model.decision import Match, Need, NeedName, ScriptCall
from bylaw.model.diagnostic import error, has_errors, warning
from bylaw.model.display import brief
from bylaw.model.errors import GuardError
from bylaw.model.facts import ScriptResult
from bylaw.model.procedure import Flow, Group, GuardFault, Procedure, SortKey, StepFault
from bylaw.model.rule import NO_LIMITS, Limits, Origin, PlanForm, Rule, Trigger, uid_of
from bylaw.model.session import variable_space
from bylaw.model.source import SourceFile, Span
from bylaw.model.vocabulary import CallStatus, Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.expr.template.check import Path
    from bylaw.expr.views import ContextValues
    from bylaw.languages.base import RuleFile
    from bylaw.languages.toml_rules.syntax import RuleSyntax
    from bylaw.model.codes import Code
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.rule import Guard, View

_MATCH = Match()
_NOT_RUN = "the script was not run: it needs Lua and a separate process"
_ENCODER = msgspec.json.Encoder(order="deterministic")
_NAME = rf"\b{CONTEXT}\b"
# The place in an error message of Lua.
_LINE = re.compile(r"\Ascript:([0-9]+): ")
_READ = re.compile(rf"{_NAME}\s*\.\s*([A-Za-z_]\w*)(?:\s*\.\s*([A-Za-z_]\w*))?")


class ScriptGuard(Struct, frozen=True, dict=True):
    """Matches if the script returned true.

    `path` is the path of the script from its rule file. `space` is the variable space that the
    script reads.
    """

    path: str
    script: str
    space: str

    def test(self, view: View) -> Match | None:
        """Return a match if the script returned true. Raises if there is no result yet."""
        written = _ENCODER.encode(self._values.read(view))
        digest = sha256(self._digest + written).hexdigest()
        need = Need(NeedName.SCRIPTS, digest, ScriptCall(self.script, written))
        return _MATCH if self._is_true(self._result(view, need)) else None

    def _result(self, view: View, need: Need) -> ScriptResult:
        try:
            result = view.fact(need)
        except GuardError as problem:
            if problem.code != FACT_UNKNOWN.name:
                raise
            raise self._error(FACT_UNKNOWN, _NOT_RUN) from problem
        assert isinstance(result, ScriptResult)
        return result

    def _is_true(self, result: ScriptResult) -> bool:
        if result.killed is not UNSET:
            problem = "the script was killed: it took too long, or its process died"
            raise self._error(SCRIPT_KILLED, problem)
        if result.error is not UNSET:
            raise self._error(SCRIPT_FAILED, _LINE.sub(r"line \1: ", result.error, count=1))
        if result.value is not None and not isinstance(result.value, bool):
            problem = "the script did not return true, false or nil"
            raise self._error(SCRIPT_FAILED, problem)
        return result.value is True

    def _error(self, code: Code, problem: str) -> GuardError:
        return GuardError(code.name, f"in `{self.path}`: {problem}", self.path)

    @cached_property
    def _digest(self) -> bytes:
        return sha256(self.script.encode()).digest()

    @cached_property
    def _values(self) -> ContextValues:
        return context_values(self.space, paths_in(self.script))


def paths_in(script: str) -> list[Path]:
    """Return the parts of the context that a script may read; all of it if that is unclear.

    It is clear if every use of `context` is followed by a name. Words in comments and strings
    only add parts. A script with `_ENV` may reach the context by any name.
    """
    found = list(_READ.finditer(script))
    if "_ENV" in script or len(found) != len(re.findall(_NAME, script)):
        return [(CONTEXT,)]
    return [(CONTEXT, *filter(None, match.groups())) for match in found]


PROCEDURE = Procedure(
    order=(SortKey.PRIORITY_DESCENDING, SortKey.ID),
    flow=Flow.ALL,
    guard_error=GuardFault.SKIP,
    failed_step=StepFault.RECORD,
)


TRIGGERS = {
    Hook.QUERY_START: Trigger.of_main_agent(Kind.PROMPT),
    Hook.TURN_START: Trigger.of_main_agent(Kind.TURN_START),
    Hook.TURN_END: Trigger.of_main_agent(Kind.TURN_END),
    Hook.TOOL_CALL: Trigger.once(Kind.TOOL_BEFORE),
    Hook.TOOL_COMPLETE: Trigger.once(Kind.TOOL_AFTER, CallStatus.OK),
    Hook.TOOL_FAILURE: Trigger.once(Kind.TOOL_AFTER, CallStatus.ERROR, CallStatus.TIMEOUT),
    Hook.SESSION_END: Trigger.of_main_agent(Kind.SESSION_END),
}
# A session may be closed twice, but it ends only once (TR-035).
_ONCE = Limits(once=True)
_reader = lru_cache(maxsize=64)(condition_reader)


def lower_rule(written: RuleSyntax, file: RuleFile, dialect: str, script: str) -> Rule:
    """Lower a rule. `script` is the text of its script, if it has one."""
    space = variable_space(dialect, written.plugin_id)
    return Rule(
        uid=uid_of(dialect, file.path, written.id),
        id=written.id,
        origin=Origin(file.path, written.line, written.column, file.digest),
        on=TRIGGERS[written.trigger],
        limits=_ONCE if written.trigger is Hook.SESSION_END else NO_LIMITS,
        guard=_guard(written, file, script, space),
        plan=PlanForm(steps=(step_maker(written.action, space),)),
        priority=written.priority,
        enabled=written.enabled,
        core=written.core,
        about=_about(written),
    )


def _guard(written: RuleSyntax, file: RuleFile, script: str, space: str) -> Guard:
    if written.script:
        return ScriptGuard(written.script, script, space)
    text = written.expression
    expression = load_checked_condition(SourceFile(file.path, text), Span(0, len(text)))
    return ExpressionGuard(expression, _reader(space))


def _about(written: RuleSyntax) -> dict[str, str]:
    about = {
        "name": written.name,
        "description": written.description,
        "version": written.version,
        "trigger": written.trigger.value,
        "plugin_id": written.plugin_id,
    }
    return {key: text for key, text in about.items() if text}


SCRIPT_SUFFIX = ".lua"
_MAX_OTHERS_SHOWN = 3


def load(files: Sequence[RuleFile]) -> LoadResult:
    """Load the rules of all files."""
    read = _read_all(files)
    for one in read:
        _check_name_and_script(one)
    _refuse_duplicates(read)
    rules = [lower_rule(rule, one.file, NAME, one.script) for one in read if (rule := one.rule)]
    return LoadResult(
        groups=(Group(GROUP, VisitOrder.TOML_RULES, PROCEDURE, tuple(rules)),),
        diagnostics=tuple(finding for one in read for finding in one.findings),
        notes={one.file.digest: one.note for one in read if one.note and one.rule},
    )


class _FileResult(Struct):
    """A file with its rule and its findings. `note` is empty if the text has findings."""

    file: RuleFile
    written: RuleSyntax | None
    findings: list[Diagnostic] = field(default_factory=list)
    note: bytes = b""
    script: str = ""

    @property
    def rule(self) -> RuleSyntax | None:
        """The rule; None if the file has errors."""
        return None if has_errors(self.findings) else self.written

    def refuse(self, code: Code, headline: str, *path: str, help_: str = "") -> None:
        """Add an error about the value at a path of keys."""
        span = read_toml(self.file.source).value_span(*path)
        self.findings.append(error(code, headline, self.file.source, span, help=help_))


def _read_all(files: Sequence[RuleFile]) -> list[_FileResult]:
    """Read each file, from its note if there is one, otherwise from its text."""
    known = [from_note(file.known) if file.known else None for file in files]
    new = [file.source for file, rule in zip(files, known, strict=True) if rule is None]
    results = iter(read_rules(new))
    return [
        _FileResult(file, rule, note=file.known) if rule else _result_of_text(file, *next(results))
        for file, rule in zip(files, known, strict=True)
    ]


def _result_of_text(
    file: RuleFile, rule: RuleSyntax | None, findings: list[Diagnostic]
) -> _FileResult:
    return _FileResult(file, rule, findings, to_note(rule) if rule and not findings else b"")


def _check_name_and_script(one: _FileResult) -> None:
    """Check the name of the file and its script, which do not depend on the text alone."""
    if one.written is not None:
        _check_file_name(one, one.written.id)
        if one.written.script:
            _load_script(one, one.written.script)


def _check_file_name(one: _FileResult, rule_id: str) -> None:
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


def _load_script(one: _FileResult, path: str) -> None:
    from bylaw.expr.lua import lua_available, lua_problem  # noqa: PLC0415 - few rules have one

    at = ("condition", "script")
    if not path.endswith(SCRIPT_SUFFIX):
        one.refuse(BAD_SCRIPT, f"`{brief(path)}` does not end in `{SCRIPT_SUFFIX}`", *at)
        return
    try:
        one.script = one.file.beside.read(path)
    except SiblingFileError as problem:
        help_ = "the path is relative to the folder of this file and must not leave it"
        one.refuse(BAD_SCRIPT, str(problem), *at, help_=help_)
        return
    if not lua_available():
        help_ = "install `bylaw[lua]`, or write an `expression`"
        one.refuse(NO_LUA, "this rule needs Lua, which is not installed", *at, help_=help_)
    elif problem_found := lua_problem(one.script):
        headline = f"`{path}`, line {problem_found.line}: {problem_found.message}"
        one.refuse(LUA_SYNTAX, headline, *at, help_="fix the script")


def _other_paths(same: Sequence[_FileResult], one: _FileResult) -> str:
    others = (f"`{other.file.path}`" for other in same if other is not one)
    more = len(same) - 1 - _MAX_OTHERS_SHOWN
    return ", ".join(islice(others, _MAX_OTHERS_SHOWN)) + (f" and {more} more" if more > 0 else "")


def _refuse_duplicates(read: Sequence[_FileResult]) -> None:
    """Report rules with the same id. None of them is used, and each names the others (TR-A13)."""
    by_id: dict[str, list[_FileResult]] = {}
    for one in read:
        if rule := one.rule:
            by_id.setdefault(rule.id, []).append(one)
    for rule_id, same in by_id.items():
        for one in same if len(same) > 1 else ():
            headline = f"duplicate rule id `{rule_id}`, also in {_other_paths(same, one)}"
            one.refuse(DUPLICATE_RULE_ID, headline, "rule", "id", help_="change one of the ids")
