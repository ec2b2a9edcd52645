"""A Lua script → a guard that needs the result of the script.

The guard does not run the script. It asks for the result and names the values that the script
reads. The host runs the script in a separate process and puts the result on the event.
"""

from __future__ import annotations

import re
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, Struct

from bylaw.expr.context_values import CONTEXT, context_values
from bylaw.model.codes.engine import FACT_UNKNOWN
from bylaw.model.codes.toml_rules import SCRIPT_FAILED, SCRIPT_KILLED
from bylaw.model.decision import Match, Need, NeedName, ScriptCall
from bylaw.model.errors import GuardError
from bylaw.model.facts import ScriptResult

if TYPE_CHECKING:
    from bylaw.expr.context_values import ContextValues
    from bylaw.expr.template.check import Path
    from bylaw.model.codes import Code
    from bylaw.model.rule import View

_MATCHED = Match()
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
        return _MATCHED if self._is_true(self._result(view, need)) else None

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
