"""The context language: loading many modules beside bare YAML, and a call among few and many."""

from __future__ import annotations

import gc
from dataclasses import dataclass
from typing import TYPE_CHECKING

import yaml
from table import Lap, Row, race

from bylaw.engine.decide import decide
from bylaw.engine.index import RuleSet
from bylaw.languages import context
from bylaw.languages.base import RuleFile
from bylaw.languages.context.blocks import MODULE, YAML_TYPES, Phase, all_blocks, read_blocks
from bylaw.languages.yaml import load_yaml
from bylaw.model.decision import Decision
from bylaw.model.event import Prompt
from bylaw.model.procedure import Book
from bylaw.model.session import Session
from bylaw.model.source import SourceFile

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.model.source import Span

MODULES = 1_000
BLOCKS = 10  # of a module
FEW = 10
LOAD_AT_MOST = 3  # times bare YAML
CALL_AT_MOST = 1.5
ROUNDS = 4

_MODULE = """\
# Module {n}

Prose about it.

[[MODULE]]
name: m{n}
description: "Module {n}."
[[ENUM]]
name: WorkMode{n}
values: [research, design, test, mode{n}]
[[/ENUM]]
[[ENUM]]
name: Style{n}
values: [compact, strict]
description: "How it looks."
[[/ENUM]]
[[STATE]]
name: mode{n}
type: WorkMode{n}
default: design
[[/STATE]]
[[STATE]]
name: count{n}
type: Int
default: {n}
[[/STATE]]
[[RESPONSE]]
responses:
  - id: report{n}
    description: "A report."
    constraints:
      structure: {{sections: [Summary, Details]}}
      must_include: ["done"]
      formatting: {{allow_code_blocks: false, forbid_tables: true}}
[[/RESPONSE]]
[[PROTOCOL]]
protocols:
  - id: quiet{n}
    description: "No web."
    rules:
      - id: no_web
        check: {{type: forbid_tool, tool: web.run{n}}}
      - id: no_code
        check: {{preset: no_code_execution}}
[[/PROTOCOL]]
[[WORKFLOW]]
workflows:
  - id: start{n}
    steps:
      - {{kind: emit_response, ref: report{n}}}
      - {{kind: enforce_protocol, ref: quiet{n}}}
[[/WORKFLOW]]
[[COMMAND]]
name: setmode{n}
args:
  kind: positional
  positional:
    - {{name: value, type: WorkMode{n}}}
effects:
  set_state:
    - {{name: mode{n}, value: "$arg0"}}
[[/COMMAND]]
[[COMMAND]]
name: guard{n}
description: "Begin."
effects:
  enable:
    responses: [report{n}]
    workflows: [start{n}]
    protocols: [quiet{n}]
[[/COMMAND]]
[[COMMAND]]
name: test{n}
reads_state: [mode{n}]
writes_state: [mode{n}, count{n}]
effects:
  set_state:
    - {{name: mode{n}, value: test}}
    - {{name: count{n}, value: 3}}
[[/COMMAND]]
[[/MODULE]]
"""


@dataclass(frozen=True)
class Body:
    """The YAML of one block: its text, and where it stands."""

    source: SourceFile
    span: Span
    text: str


def run() -> list[Row]:
    """Load, then call."""
    return [*_load_rows(), _call_row()]


def _sources(count: int) -> list[SourceFile]:
    return [SourceFile(f"m{n}.md", _MODULE.format(n=n)) for n in range(count)]


def _bodies(sources: list[SourceFile]) -> list[Body]:
    found = []
    for source in sources:
        for block in all_blocks(read_blocks(source, Phase())):
            span = block.header if block.type == MODULE else block.body
            found += [Body(source, span, source.slice(span))] if block.type in YAML_TYPES else []
    assert len(found) == len(sources) * (BLOCKS + 1)
    return found


def _load_rows() -> list[Row]:
    sources = _sources(MODULES)
    bodies = _bodies(sources)
    _check(sources)
    times = race(
        {
            "ours": Lap(_with_collector(lambda: _load(sources)), [None]),
            "yaml": Lap(_with_collector(lambda: _read_bare(bodies)), [None]),
            "nodes": Lap(_with_collector(lambda: _read_nodes(bodies)), [None]),
        },
        ROUNDS,
    )
    inside = (
        f"ours: {MODULES:,} files of one module with {BLOCKS} blocks become checked rules; theirs: "
        "their YAML alone, "
    )
    name = f"context.load / yaml.CSafeLoader {yaml.__version__}"
    return [
        Row(name, inside + "as maps", times["ours"], times["yaml"], LOAD_AT_MOST, faster=False),
        Row("context.load / load_yaml", inside + "as nodes with places", times["ours"],
            times["nodes"], faster=False),
    ]  # fmt: skip


def _load(sources: list[SourceFile]) -> object:
    # Anew: a text remembers where its lines begin.
    files = [RuleFile(SourceFile(one.path, one.text), "digest") for one in sources]
    return context.load(files)


def _read_bare(bodies: list[Body]) -> object:
    return [yaml.load(body.text, Loader=yaml.CSafeLoader) for body in bodies]


def _read_nodes(bodies: list[Body]) -> object:
    return [load_yaml(body.source, body.span) for body in bodies]


def _with_collector(work: Callable[[], object]) -> Callable[[object], object]:
    """What is made here is kept, so garbage is looked for as in any process."""

    def worked(_: object) -> object:
        gc.enable()
        try:
            return work()
        finally:
            gc.disable()

    return worked


def _check(sources: list[SourceFile]) -> None:
    loaded = context.load([RuleFile(one, "digest") for one in sources])
    assert not loaded.diagnostics
    # Three commands; four checks and the constraints of a response.
    assert [len(group.rules) for group in loaded.groups] == [3 * MODULES, 5 * MODULES]


def _call_row() -> Row:
    few, many = _rule_set(FEW), _rule_set(MODULES)
    call = Prompt(text="/setmode7(test)", seq=1, at=1)
    session = Session()
    for rules in (few, many):
        decision = decide(rules, session, call)
        assert isinstance(decision, Decision)
        assert [plan.rule for plan in decision.plans] == ["m7.setmode7"]
    times = race(
        {
            "few": Lap(lambda _: decide(few, session, call), [None]),
            "many": Lap(lambda _: decide(many, session, call), [None]),
        }
    )
    return Row(f"context call: {MODULES:,} modules, against {FEW}",
               "decide of a prompt that calls a command with one argument",
               times["many"], times["few"], CALL_AT_MOST, faster=False)  # fmt: skip


def _rule_set(count: int) -> RuleSet:
    loaded = context.load([RuleFile(one, "digest") for one in _sources(count)])
    return RuleSet(
        [Book(dialect=context.name, path="a", files=(), digest="", groups=loaded.groups)]
    )
