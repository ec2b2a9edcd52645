"""Tools that replay the results of a file, one JSON object per line."""

import time
from collections import defaultdict, deque
from collections.abc import Mapping
from threading import Lock
from typing import Annotated

import msgspec

from bylaw.hosts.chat.tools.base import ToolError
from bylaw.model.errors import BylawError
from bylaw.model.refusal import explain
from bylaw.model.strict_json import JsonError, read_json
from bylaw.model.values import JSON
from bylaw.model.visible import brief
from bylaw.runtime.reading import read_file

MAX_MS = 60_000

_MS = 1000


class ScriptedResult(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A line: the result of a tool, or its error. `ms` is how long the tool takes."""

    tool: Annotated[str, msgspec.Meta(min_length=1)]
    result: JSON = None
    error: str | msgspec.UnsetType = msgspec.UNSET
    ms: Annotated[int, msgspec.Meta(ge=0, le=MAX_MS)] = 0


def scripted_tools(named: str) -> "ScriptedTools":
    """Return the tools of `script:FILE`. Raises BylawError for anything else."""
    scheme, _, path = named.partition(":")
    if scheme != "script" or not path:
        raise BylawError(f"invalid value `{brief(named)}` for the tools: write `script:FILE`")
    return ScriptedTools(path)


class ScriptedTools:
    """The results of each tool. The constructor raises BylawError if the file is invalid."""

    def __init__(self, path: str) -> None:
        self._left: defaultdict[str, deque[ScriptedResult]] = defaultdict(deque)
        for one in _results(path):
            self._left[one.tool].append(one)
        self._taking = Lock()

    def run(self, name: str, args: Mapping[str, JSON]) -> JSON:  # noqa: ARG002 - a script ignores them
        """Return the next result of a tool. Raises ToolError if it is an error or missing."""
        with self._taking:
            if not self._left[name]:
                raise ToolError(f"the script has no result for `{name}`")
            given = self._left[name].popleft()
        time.sleep(given.ms / _MS)
        if isinstance(given.error, str):
            raise ToolError(given.error)
        return given.result


def _results(path: str) -> list[ScriptedResult]:
    results: list[ScriptedResult] = []
    for number, line in enumerate(read_file(path).text.split("\n"), 1):
        if line.strip():
            try:
                results.append(_result(line))
            except ValueError as wrong:
                raise BylawError(f"{path}:{number}: {wrong}") from None
    return results


def _result(line: str) -> ScriptedResult:
    try:
        written = read_json(line)
        found = msgspec.convert(written, ScriptedResult)
    except JsonError as wrong:
        why = f"{wrong.told_of('the line is')}, column {wrong.span.start + 1}"
        raise ValueError(why) from None
    except msgspec.ValidationError as wrong:
        raise ValueError(explain(ScriptedResult, str(wrong), "a result")) from None
    assert isinstance(written, dict), "only an object is converted"
    if ("result" in written) == ("error" in written):
        raise ValueError(f"`{brief(found.tool)}` needs either a `result` or an `error`")
    return found
