"""An example of a code → what Bylaw really says about it.

The table `READERS` maps the kind of an example to the function that asks the right part of
Bylaw. A function raises what that part raises, or returns what that part reported.
"""

from __future__ import annotations

import json
import tempfile
from contextlib import chdir
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, cast

import provoke_chatmd
import provoke_chatmd_rules
import provoke_context
import provoke_hosts
import provoke_install
import provoke_journal
import provoke_law
import provoke_log
import provoke_policies
import provoke_rules
from msgspec.structs import replace

from bylaw.cli.terminal import read_source
from bylaw.engine.index import RuleSet
from bylaw.expr.expression import load_guard, warn_if_not_boolean
from bylaw.expr.guard_environment import guard_environment
from bylaw.expr.template import TemplateNames, load_template
from bylaw.hosts.python import Engine
from bylaw.languages.toml import load_toml
from bylaw.languages.yaml import load_yaml
from bylaw.model import diagnostic_text
from bylaw.model.decision import Match, Need, NeedName, Needs
from bylaw.model.diagnostic import Diagnostic
from bylaw.model.display import visible
from bylaw.model.effects import StateSet
from bylaw.model.errors import GuardError, LoadError, RenderError
from bylaw.model.event import SessionStart
from bylaw.model.facts import Facts, ScriptResult
from bylaw.model.procedure import Book, Flow, Group, GuardFault, Procedure, SortKey, StepFault
from bylaw.model.rule import Origin, PlanForm, Rule, Trigger
from bylaw.model.source import SourceFile, Span
from bylaw.model.vocabulary import Kind, Op
from bylaw.model.wire import EventError, decode_event
from bylaw.paths import Pattern, check_resolvable, check_same_variables, parse_pattern, pattern
from bylaw.report.check import check
from bylaw.report.decide import EventDecider
from bylaw.report.expression import evaluate_expression, guard_view
from bylaw.report.policy_files import read_legacy
from bylaw.report.suites.reader import read_page
from bylaw.runtime.loader import load_paths, load_root
from bylaw.runtime.policy_settings import LEGACY
from bylaw.runtime.submit import DryRun
from bylaw.store.journal.errors import JournalError
from bylaw.store.switches import read_switches

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bylaw.model.codes import Example
    from bylaw.model.event import Event
    from bylaw.model.rule import Guard, View

# What a template of a rule may read.
PARTS = ("turn", "history", "user", "project", "state", "event", "result")
CONTEXT: dict[str, None] = dict.fromkeys(PARTS)


Found = Diagnostic | EventError | GuardError | JournalError | RenderError


@dataclass(frozen=True)
class Answer:
    """The codes that an example provoked, and how they are shown."""

    codes: list[str]
    shown: str


def provoke(example: Example) -> Answer:
    """Ask the reader of the example's kind."""
    try:
        found = READERS[example.kind](example)
    except LoadError as refused:
        found = refused.diagnostics
    except (EventError, GuardError, RenderError) as failed:
        found = [failed]
    return Answer([one.code for one in found], "\n".join(_shown(one) for one in found))


def _shown(found: Found) -> str:
    if isinstance(found, Diagnostic):
        return diagnostic_text.render([found])
    return f"error[{found.code}]: {visible(found.message)}\n"


def _guard(example: Example) -> Sequence[Found]:
    return _expression(example, "chatmd")


def _condition(example: Example) -> Sequence[Found]:
    return _expression(example, "toml")


def _expression(example: Example, dialect: str) -> Sequence[Found]:
    trial = evaluate_expression(example.text, dialect, SourceFile("facts.json", example.facts))
    failure = trial.answer.get("error", {"code": "load-"})
    if failure["code"].startswith("load-"):
        return trial.diagnostics
    return [*trial.diagnostics, GuardError(failure["code"], failure["message"])]


def _guard_in_file(example: Example) -> Sequence[Found]:
    """A guard in a file that has one rule, `reminder`."""
    load_guard(*_whole("<expression>", example), guard_environment(rule_ids=["reminder"]))
    return []


def _guard_of_rule(example: Example) -> Sequence[Found]:
    """A guard that decides whether a rule fires, so that it must be true or false."""
    guard = load_guard(*_whole("<expression>", example), guard_environment())
    warnings = warn_if_not_boolean(guard)
    try:
        guard.test(guard_view(SourceFile("facts.json", example.facts)))
    except GuardError as failed:
        return [*warnings, failed]
    return warnings


def _template(example: Example) -> Sequence[Found]:
    loaded = load_template(*_whole("<template>", example), TemplateNames({"context": CONTEXT}))
    try:
        loaded.render(json.loads(example.facts))
    except RenderError as failed:
        return [*loaded.warnings, failed]
    return loaded.warnings


def _whole(name: str, example: Example) -> tuple[SourceFile, Span]:
    return SourceFile(name, example.text), Span(0, len(example.text))


def _suite(example: Example) -> Sequence[Found]:
    read_page(SourceFile("spec/page.md", example.text))
    return []


def _input_path(example: Example) -> Sequence[Found]:
    return _read_in_empty_folder(example.text)


def _input_bytes(example: Example) -> Sequence[Found]:
    return _read_in_empty_folder("facts.json", example.text.encode("latin-1"))


def _input_size(example: Example) -> Sequence[Found]:
    return _read_in_empty_folder("facts.json", b" " * int(example.text))


def _read_in_empty_folder(path: str, data: bytes | None = None) -> Sequence[Found]:
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        if data is not None:
            Path(path).write_bytes(data)
        read_source(path)
    return []


def _configuration(example: Example) -> Sequence[Found]:
    return _check_root({"bylaw.toml": example.text})


def _two_configurations(example: Example) -> Sequence[Found]:
    both = {"bylaw.toml": example.text, "pyproject.toml": f"[tool.bylaw]\n{example.text}"}
    return _check_root(both)


def _legacy_policies(example: Example) -> Sequence[Found]:
    return _check_root({LEGACY: example.text})


def _legacy_entry(example: Example) -> Sequence[Found]:
    return read_legacy(SourceFile(LEGACY, example.text), lambda _: "").findings


def _check_root(files: dict[str, str]) -> Sequence[Found]:
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            (Path(folder) / name).write_text(content, encoding="utf-8")
        return load_root(folder).diagnostics


def _reload(example: Example) -> Sequence[Found]:
    """Settings that do not load when they are loaded for the second time."""
    with tempfile.TemporaryDirectory() as folder:
        engine = Engine(load_root(folder))
        Path(folder, "bylaw.toml").write_text(example.text, encoding="utf-8")
        return engine.reload().diagnostics


def _switches(example: Example) -> Sequence[Found]:
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder, ".bylaw", "state")
        state.mkdir(parents=True)
        (state / "switches.json").write_text(example.text, encoding="utf-8")
        return read_switches(folder).diagnostics


def _state_link(example: Example) -> Sequence[Found]:
    with tempfile.TemporaryDirectory() as folder:
        link = Path(folder, example.text)
        link.parent.mkdir()
        link.symlink_to("/")
        return read_switches(folder).diagnostics


def _rule_file(example: Example) -> Sequence[Found]:
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        Path(example.text).touch()
        return load_paths([example.text]).diagnostics


def _rule_folder(example: Example) -> Sequence[Found]:
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        Path(example.text).mkdir()
        return load_paths([example.text]).diagnostics


def _overlooked_chat(example: Example) -> Sequence[Found]:
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        path = Path(example.text)
        path.parent.mkdir()
        path.write_text("<policy/>\n", encoding="utf-8")
        Path("bylaw.toml").touch()
        return check(()).diagnostics


def _event(example: Example) -> Sequence[Found]:
    decode_event(example.text.encode())
    return []


def _event_size(example: Example) -> Sequence[Found]:
    return _answered(EventDecider(RuleSet([])), b" " * int(example.text))


def _event_sessions(example: Example) -> Sequence[Found]:
    decider = EventDecider(RuleSet([]))
    for number in range(int(example.text) - 1):
        decider.decide(SessionStart(session=str(number)))
    return _answered(decider, b'{"kind": "session.start"}')


def _answered(decider: EventDecider, data: bytes) -> Sequence[Found]:
    (answer,) = decider.decide_stream(BytesIO(data))
    problem = cast("dict[str, str]", answer["error"])
    return [EventError(problem["code"], problem["message"])]


class _AsksForEver:
    """A check that needs another fact each time."""

    def __init__(self, name: str) -> None:
        self._name = NeedName(name)

    def test(self, view: View) -> Needs:
        known = view.event.facts.scripts or {}
        return Needs((Need(self._name, f"number {len(known) + 1}"),))


class _Breaks:
    """A check with a mistake in it."""

    def test(self, view: View) -> Match | None:
        return Match({"first line": view.event.text[0]})  # type: ignore[union-attr]


def _unknown_fact(example: Example) -> Sequence[Found]:
    return _guard_error(needs=(Need(NeedName(example.text), "7"),))


def _endless_needs(example: Example) -> Sequence[Found]:
    return _guard_error(guard=_AsksForEver(example.text))


def _crash(_example: Example) -> Sequence[Found]:
    return _guard_error(guard=_Breaks())


def _infinite(_example: Example) -> Sequence[Found]:
    return _guard_error(plan=PlanForm(steps=(_Sets("example:", 1e308 * 10),)))


def _foreign(example: Example) -> Sequence[Found]:
    return _guard_error(plan=PlanForm(steps=(_Sets(example.text, 1),)))


class _Sets:
    """A step that writes a variable."""

    op = Op.STATE_SET

    def __init__(self, space: str, value: float) -> None:
        self._step = StateSet(space=space, name="total", value=value)

    def make(self, _view: View, _match: Match) -> tuple[StateSet]:
        return (self._step,)


def _guard_error(
    guard: Guard | None = None, needs: tuple[Need, ...] = (), plan: PlanForm | None = None
) -> Sequence[Found]:
    """What the trace says about a rule with this guard, these needs or this plan."""
    rule = Rule(
        uid="example:rules#one",
        id="one",
        origin=Origin("rules", 1, 1, ""),
        on=Trigger(kinds=(Kind.SESSION_START,)),
        guard=guard,
        needs=needs,
        plan=plan or PlanForm(),
    )
    book = Book(
        dialect="example",
        path="rules",
        files=("rules",),
        digest="",
        groups=(Group("rules", 1, PROCEDURE, (rule,)),),
    )
    rehearsal = DryRun(RuleSet([book]), {NeedName.SCRIPTS: _run_script})
    (line,) = rehearsal.submit(SessionStart()).decision.trace
    code, _, message = line.detail.removeprefix("step 1 failed: ").partition(": ")
    return [GuardError(code, message)]


def _run_script(event: Event, need: Need) -> Facts:
    known = event.facts.scripts or {}
    return replace(event.facts, scripts={**known, need.key: ScriptResult(value=True)})


def _pattern(example: Example) -> Sequence[Found]:
    pattern(example.text)
    return []


def _pattern_pair(example: Example) -> Sequence[Found]:
    given, wanted = _patterns(example)
    return check_resolvable(wanted, given)


def _pattern_set(example: Example) -> Sequence[Found]:
    return check_same_variables(_patterns(example))


def _patterns(example: Example) -> list[Pattern]:
    source = SourceFile("policy.md", example.text)
    starts = [0, example.text.index("\n") + 1]
    return [
        parse_pattern(source, Span(start, start + len(line)))
        for start, line in zip(starts, example.text.split("\n"), strict=True)
    ]


def _toml(example: Example) -> Sequence[Found]:
    load_toml(SourceFile("rule.toml", example.text))
    return []


def _yaml(example: Example) -> Sequence[Found]:
    load_yaml(SourceFile("rules.yaml", example.text))
    return []


PROCEDURE = Procedure(
    order=(SortKey.SOURCE,),
    flow=Flow.ALL,
    guard_error=GuardFault.SKIP,
    failed_step=StepFault.RECORD,
)

READERS: dict[str, Callable[[Example], Sequence[Found]]] = {
    **provoke_chatmd.READERS,
    **provoke_chatmd_rules.READERS,
    **provoke_hosts.READERS,
    **provoke_install.READERS,
    **provoke_journal.READERS,
    **provoke_law.READERS,
    **provoke_log.READERS,
    **provoke_policies.READERS,
    **provoke_rules.READERS,
    "condition": _condition,
    "configuration": _configuration,
    "decide-crash": _crash,
    "decide-endless-needs": _endless_needs,
    "decide-foreign": _foreign,
    "decide-infinite": _infinite,
    "decide-unknown-fact": _unknown_fact,
    "event": _event,
    "event-sessions": _event_sessions,
    "event-size": _event_size,
    "guard": _guard,
    "guard-in-file": _guard_in_file,
    "guard-of-rule": _guard_of_rule,
    "input-bytes": _input_bytes,
    "input-path": _input_path,
    "input-size": _input_size,
    "pattern": _pattern,
    "pattern-pair": _pattern_pair,
    "pattern-set": _pattern_set,
    "reload": _reload,
    "rule-file": _rule_file,
    "rule-folder": _rule_folder,
    "overlooked-chat": _overlooked_chat,
    "state-link": _state_link,
    "suite": _suite,
    "switches": _switches,
    "template": _template,
    "toml": _toml,
    "two-configurations": _two_configurations,
    "legacy-policies": _legacy_policies,
    "legacy-entry": _legacy_entry,
    "yaml": _yaml,
    "context": provoke_context.document,
    "context-call": provoke_context.call,
}
