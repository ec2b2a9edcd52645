"""The `<tool>` declarations of a chat → its tools: built-in tools, commands, agents and scripts.

Commands run without a shell. Nothing is started before a person has trusted the chat. A script of
tool results is a file with one JSON object per line.
"""

from __future__ import annotations

import shlex
import time
from collections import defaultdict, deque
from threading import Lock
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from bylaw.hosts.chat.tools.base import Arguments, CheckedTool, ToolError, ToolTimeoutError
from bylaw.hosts.chat.tools.file_tools import (
    AppendToFile,
    FindAndReplace,
    NamedFolder,
    ReadFile,
    ReadFolder,
)
from bylaw.hosts.chat.tools.files import show_text
from bylaw.hosts.chat.tools.patch import ApplyPatch
from bylaw.languages.chatmd.header import AgentTool as DeclaredAgent
from bylaw.languages.chatmd.header import BuiltInTool
from bylaw.languages.chatmd.header import CommandTool as DeclaredCommand
from bylaw.model.display import brief
from bylaw.model.errors import BylawError
from bylaw.model.suggest import did_you_mean
from bylaw.model.values import JSON, JsonError, read_json
from bylaw.model.wire import explain_invalid_value
from bylaw.runtime.sandbox.step import command_at_root, run_if_trusted
from bylaw.store.files import read_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from bylaw.hosts.chat.tools.base import Tool
    from bylaw.hosts.chat.tools.files import Files
    from bylaw.languages.chatmd.header import Declarations, ReadRoot
    from bylaw.languages.chatmd.header import Tool as DeclaredTool
    from bylaw.runtime.sandbox.client import Cancellation
    from bylaw.runtime.sandbox.result import CommandResult
    from bylaw.runtime.settings import CommandSettings
    from bylaw.runtime.trust import Trust

    Make = Callable[[BuiltInTool, Files, Callable[[], Trust]], Tool]


def _read_file(declared: BuiltInTool, files: Files, trust: Callable[[], Trust]) -> Tool:
    return ReadFile(files, [_named_folder(root, files.root) for root in declared.roots], trust)


def _named_folder(root: ReadRoot, workspace: str) -> NamedFolder:
    # The only variable that means the same in every file that declares the tool.
    path = root.path.replace("${workspace}", workspace)
    folder = path if path.startswith("/") else f"{workspace}/{path}"
    return NamedFolder(root.id, folder, root.description)


_MAKE: Mapping[str, Make] = {
    "read_file": _read_file,
    "get_contents": _read_file,
    "read_dir": lambda _, files, __: ReadFolder(files),
    "read_directory": lambda _, files, __: ReadFolder(files),
    "append_to_file": lambda _, files, __: AppendToFile(files),
    "find_and_replace": lambda _, files, __: FindAndReplace(files),
    "apply_patch": lambda _, files, __: ApplyPatch(files),
}

BUILT_IN_NAMES = frozenset(_MAKE)


def make_built_in(declared: BuiltInTool, files: Files, trust: Callable[[], Trust]) -> Tool | None:
    """Return the tool of a declaration, None if no built-in tool has this name."""
    make = _MAKE.get(declared.name)
    return make(declared, files, trust) if make else None


MAX_OUTPUT_BYTES = 64 * 1024  # of each stream


class CommandArguments(Arguments, frozen=True, kw_only=True):
    """The arguments of a command tool."""

    arguments: Annotated[
        tuple[str, ...], Meta(description="Arguments to add to the command, one string each.")
    ] = ()


class CommandTool(CheckedTool[CommandArguments]):
    """Runs one command in the root of the chat; see `run_if_trusted`."""

    also: tuple[str, ...] = ("shell",)

    def __init__(
        self,
        declared: DeclaredCommand,
        root: str,
        settings: CommandSettings,
        trust: Callable[[], Trust],
        cancellation: Cancellation | None = None,
    ) -> None:
        ours = f"Run `{declared.command}` with further arguments. No shell interprets them."
        super().__init__(declared.name, f"{ours} {declared.description}".rstrip(), CommandArguments)
        self._command = declared.command
        self._root = root
        self._settings = settings
        self._trust = trust
        self._cancellation = cancellation

    def act(self, args: CommandArguments) -> str:
        """Return what was printed. Raises ToolError also if the command reports a failure."""
        argv = (*self._declared_argv(), *args.arguments)
        command = replace(
            command_at_root(self._root, self._settings, argv), max_output=MAX_OUTPUT_BYTES
        )
        result = run_if_trusted(command, self._trust, self._cancellation)
        printed = _output(result)
        if result.ok:
            return printed
        failed = ToolTimeoutError if result.timed_out else ToolError
        said = f"`{show_text(self._command)}`: {result.error}"
        raise failed(f"{said}\n{printed}" if printed else said)

    def _declared_argv(self) -> list[str]:
        try:
            return shlex.split(self._command)
        except ValueError as wrong:
            why = str(wrong).lower()
            raise ToolError(f"`{show_text(self._command)}` is not a valid command: {why}") from None


def _output(result: CommandResult) -> str:
    """Return standard output, then standard error on a new line."""
    out, errors = result.stdout.text, result.stderr.text
    return f"{out}\n{errors}" if out and errors and not out.endswith("\n") else out + errors


class AgentArguments(Arguments, frozen=True, kw_only=True):
    """The arguments of an agent tool."""

    input: Annotated[str, Meta(description="The task for the agent, in words.")]


class AgentTool(CheckedTool[AgentArguments]):
    """Runs one agent. `run` gets the file of the agent and the input."""

    def __init__(
        self, name: str, path: str, description: str, run: Callable[[str, str], str]
    ) -> None:
        super().__init__(name, description or f"Ask the agent `{path}`.", AgentArguments)
        self._path = path
        self._run = run

    def act(self, args: AgentArguments) -> str:
        """Return the last message of the agent."""
        try:
            return self._run(self._path, args.input)
        except BylawError as problem:
            raise ToolError(str(problem)) from None


class ToolMaker:
    """Makes the tools of a chat, which work on `files`. `tell` gets a text for each unknown one."""

    def __init__(
        self,
        files: Files,
        settings: CommandSettings,
        trust: Callable[[], Trust],
        run_agent: Callable[[str, str], str],
        tell: Callable[[str], None],
        cancellation: Cancellation | None = None,
    ) -> None:
        self._files = files
        self._settings = settings
        self._trust = trust
        self._run_agent = run_agent
        self._tell = tell
        self._cancellation = cancellation

    def tools_of(self, declared: Declarations) -> Iterator[Tool]:
        """Yield every tool that Bylaw runs. A warning about others was given with the rules."""
        for one in declared.tools:
            tool = self._make(one)
            if tool is not None:
                yield tool

    def _make(self, one: DeclaredTool) -> Tool | None:
        match one:
            case DeclaredCommand():
                root, cancelled = self._files.root, self._cancellation
                return CommandTool(one, root, self._settings, self._trust, cancelled)
            case DeclaredAgent(name=name, path=path, description=said):
                return AgentTool(name, path, said, self._run_agent)
            case BuiltInTool(name=name):
                made = make_built_in(one, self._files, self._trust)
                if made is None:
                    help_ = did_you_mean(name, BUILT_IN_NAMES)
                    self._tell(f"unknown built-in tool `{name}`; {help_}")
                return made
        return None


MAX_MS = 60_000

_MS = 1000


class ScriptedResult(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A line: the result of a tool, or its error. `ms` is how long the tool takes."""

    tool: Annotated[str, msgspec.Meta(min_length=1)]
    result: JSON = None
    error: str | msgspec.UnsetType = msgspec.UNSET
    ms: Annotated[int, msgspec.Meta(ge=0, le=MAX_MS)] = 0


def scripted_tools(named: str) -> ScriptedTools:
    """Return the tools of `script:FILE`. Raises BylawError for anything else."""
    scheme, _, path = named.partition(":")
    if scheme != "script" or not path:
        raise BylawError(f"invalid value `{brief(named)}` for the tools: write `script:FILE`")
    return ScriptedTools(path)


class ScriptedTools:
    """The results of each tool. The constructor raises BylawError if the file is invalid."""

    def __init__(self, path: str) -> None:
        self._left: defaultdict[str, deque[ScriptedResult]] = defaultdict(deque)
        for one in _read_results(path):
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


def _read_results(path: str) -> list[ScriptedResult]:
    results: list[ScriptedResult] = []
    for number, line in enumerate(read_file(path).text.split("\n"), 1):
        if line.strip():
            try:
                results.append(_read_result(line))
            except ValueError as wrong:
                raise BylawError(f"{path}:{number}: {wrong}") from None
    return results


def _read_result(line: str) -> ScriptedResult:
    try:
        written = read_json(line)
        found = msgspec.convert(written, ScriptedResult)
    except JsonError as wrong:
        why = f"{wrong.sentence_about('the line is')}, column {wrong.span.start + 1}"
        raise ValueError(why) from None
    except msgspec.ValidationError as wrong:
        raise ValueError(explain_invalid_value(ScriptedResult, str(wrong), "a result")) from None
    assert isinstance(written, dict), "only an object is converted"
    if ("result" in written) == ("error" in written):
        raise ValueError(f"`{brief(found.tool)}` needs either a `result` or an `error`")
    return found
