"""Examples of rule files and scripts → what loading and deciding them says; see provoke.py."""

from __future__ import annotations

import sys
import tempfile
from contextlib import chdir
from pathlib import Path
from typing import TYPE_CHECKING

from bylaw.engine.index import RuleSet
from bylaw.expr.lua import lua_module
from bylaw.model.decision import NeedName
from bylaw.model.errors import GuardError
from bylaw.model.event import TurnStart
from bylaw.runtime.loader import load_paths
from bylaw.runtime.scripts import ScriptRunner
from bylaw.runtime.submit import DryRun

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bylaw.model.codes import Example
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.runtime.loader import Library
    from bylaw.runtime.needs import Gatherers

RULE = "a-rule.toml"
SCRIPT = "scripts/a.lua"
LUA = "lupa.lua55"
WITH_SCRIPT = f"""[rule]
id = "a-rule"
trigger = "on_turn_start"

[condition]
script = "{SCRIPT}"

[action]
type = "log"
"""


def _loaded(files: dict[str, str]) -> Library:
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for name, content in files.items():
            Path(name).parent.mkdir(exist_ok=True)
            Path(name).write_text(content, encoding="utf-8")
        return load_paths(["."])


def rule(example: Example) -> Sequence[Diagnostic]:
    """A rule file."""
    return _loaded({RULE: example.text}).diagnostics


def rule_twice(example: Example) -> Sequence[Diagnostic]:
    """The same rule in two files."""
    return _loaded({RULE: example.text, "rules/a-rule.toml": example.text}).diagnostics


def rule_named(example: Example) -> Sequence[Diagnostic]:
    """A rule in a file of another name."""
    return _loaded({"My_Rule.toml": example.text}).diagnostics


def bad_lua(example: Example) -> Sequence[Diagnostic]:
    """A script of a rule."""
    return _loaded({RULE: WITH_SCRIPT, SCRIPT: example.text}).diagnostics


def without_lua(example: Example) -> Sequence[Diagnostic]:
    """A script of a rule where Lua is not installed."""
    installed = sys.modules.pop(LUA, None)
    sys.modules[LUA] = None  # type: ignore[assignment]  # as if it were not there
    lua_module.cache_clear()
    try:
        return bad_lua(example)
    finally:
        lua_module.cache_clear()
        del sys.modules[LUA]
        if installed is not None:
            sys.modules[LUA] = installed


def action(example: Example) -> Sequence[GuardError]:
    """A rule whose action fails."""
    detail = _detail(_loaded({RULE: example.text}), {})
    _, code, message = detail.split(": ", 2)
    return [GuardError(code, message)]


def script(example: Example) -> Sequence[GuardError]:
    """A script that is run."""
    library = _loaded({RULE: WITH_SCRIPT, SCRIPT: example.text})
    with ScriptRunner() as runner:
        detail = _detail(library, {NeedName.SCRIPTS: runner.gather})
    code, _, message = detail.partition(": ")
    return [GuardError(code, message)]


def _detail(library: Library, gatherers: Gatherers) -> str:
    """What the record says of its one rule at the start of a turn."""
    rehearsal = DryRun(RuleSet(library.in_force()), gatherers)
    (line,) = rehearsal.submit(TurnStart()).decision.trace
    return line.detail


READERS: dict[str, Callable[[Example], Sequence[Diagnostic | GuardError]]] = {
    "toml-action": action,
    "toml-rule": rule,
    "toml-rule-bad-lua": bad_lua,
    "toml-rule-named": rule_named,
    "toml-rule-without-lua": without_lua,
    "toml-rules-twice": rule_twice,
    "toml-script": script,
}
