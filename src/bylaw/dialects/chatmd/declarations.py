"""`<config>` and `<tool>` at the top of a chat → declarations, and findings about them.

This module does not decide what a tool does or whether it may run.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct, field

from bylaw.dialects.chatmd.syntax.nodes import Comment, Element
from bylaw.model.codes.chatmd import CHATMD_BAD_NUMBER, CHATMD_BAD_TOOL, CHATMD_NOT_RUN
from bylaw.model.diagnostic import error, warning
from bylaw.model.visible import brief

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bylaw.dialects.chatmd.imports import Placed
    from bylaw.model.codes import Code
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.source import SourceFile, Span

# A tool has at most one of these attributes. A tool without any of them is built in.
_KINDS = ("command", "agent", "mcp_server")
_READS_FILES = frozenset(("read_file", "get_contents"))
_NOT_RUN = {
    "script": "scripts",
    "shell_access": "shell runtimes",
    "moderator_runtime": "moderators",
}
MAX_DIGITS = 9
_WHOLE = re.compile(rf"[0-9]{{1,{MAX_DIGITS}}}")
_DECIMAL = re.compile(rf"[0-9]{{1,{MAX_DIGITS}}}(?:\.[0-9]{{1,{MAX_DIGITS}}})?")


class Config(Struct, frozen=True, kw_only=True):
    """The settings of requests to the model. Empty or None means not set."""

    model: str = ""
    max_tokens: int | None = None
    temperature: float | None = None
    reasoning_effort: str = ""


class ReadRoot(Struct, frozen=True):
    """A folder that a built-in tool may read."""

    id: str
    path: str
    description: str = ""


class BuiltInTool(Struct, frozen=True):
    """A tool that the host provides. If it has `roots`, it may read only those folders."""

    name: str
    roots: tuple[ReadRoot, ...] = ()


class CommandTool(Struct, frozen=True):
    """A tool that runs a program."""

    name: str
    command: str
    description: str = ""


class AgentTool(Struct, frozen=True):
    """A tool that runs another chat."""

    name: str
    path: str
    description: str = ""


class McpTools(Struct, frozen=True):
    """The tools of an MCP server. `selection` lists their names; empty means all tools."""

    address: str
    selection: tuple[str, ...] = ()


class ShellTool(Struct, frozen=True):
    """A shell tool in the long form. Only its name is read."""

    name: str


Tool: TypeAlias = BuiltInTool | CommandTool | AgentTool | McpTools | ShellTool


class Declarations(Struct, frozen=True):
    """The declarations of a chat. Tools are in the order of the text."""

    config: Config = field(default_factory=Config)
    tools: tuple[Tool, ...] = ()


def read_declarations(placed: Iterable[Placed]) -> tuple[Declarations, list[Diagnostic]]:
    """Read the declarations of the elements at the top, with findings."""
    config: Config | None = None
    tools: list[Tool] = []
    found: list[Diagnostic] = []
    for element, source in placed:
        reader = _Reader(element, source, found)
        if element.name == "config":
            # Only the first `<config>` is used.
            config = config or reader.config()
        elif element.name == "tool":
            tools += reader.tool()
        elif element.name in _NOT_RUN:
            reader.not_run(_NOT_RUN[element.name])
    return Declarations(config or Config(), tuple(tools)), found


class _Reader:
    """Reads one element. Findings are added to `found`."""

    def __init__(self, element: Element, source: SourceFile, found: list[Diagnostic]) -> None:
        self._element = element
        self._value = element.value
        self._source = source
        self._found = found

    def config(self) -> Config:
        whole = self._number("max_tokens", _WHOLE, "a whole number")
        decimal = self._number("temperature", _DECIMAL, "a number such as `0.7`")
        return Config(
            model=self._value("model"),
            max_tokens=int(whole) if whole else None,
            temperature=float(decimal) if decimal else None,
            reasoning_effort=self._value("reasoning_effort"),
        )

    def _number(self, name: str, form: re.Pattern[str], what: str) -> str:
        """Return the digits; an empty text if the value is missing or wrong."""
        attribute = self._element.attribute(name)
        if attribute is None:
            return ""
        text = (attribute.value or "").strip()
        if form.fullmatch(text):
            return text
        headline = f"invalid number `{brief(text)}` for `{name}`"
        self._refuse(CHATMD_BAD_NUMBER, headline, attribute.span, f"write {what}")
        return ""

    def tool(self) -> Iterator[Tool]:
        """Yield the tool, or nothing if it is wrong."""
        kinds = [kind for kind in _KINDS if self._has(kind)]
        if len(kinds) > 1:
            named = " and ".join(f"`{kind}`" for kind in kinds)
            self._refuse_tool(f"a tool cannot have {named}", "keep one of them")
        elif kinds == ["mcp_server"]:
            yield self._server()
        elif not self._value("name"):
            self._refuse_tool("a tool has no name", 'write `name="…"`')
        else:
            yield from self._named(self._value("name"), kinds[0] if kinds else "")

    def _named(self, name: str, kind: str) -> Iterator[Tool]:
        if self._value("type") == "shell":
            self.not_run("the long form of shell tools")
            yield ShellTool(name)
            return
        roots = tuple(self._roots(name, may_read=not kind and name in _READS_FILES))
        value, description = self._value(kind), self._value("description")
        if not kind:
            yield BuiltInTool(name, roots)
        elif not value:
            self._refuse_tool(f"`{kind}` of the tool `{brief(name)}` is empty", "write a value")
        elif kind == "command":
            yield CommandTool(name, value, description)
        else:
            yield AgentTool(name, value, description)

    def _roots(self, name: str, *, may_read: bool) -> Iterator[ReadRoot]:
        for node in self._element.children:
            if isinstance(node, Comment) or not self._source.slice(node.span).strip():
                continue
            if not may_read or not isinstance(node, Element) or node.name != "read":
                headline = f"unexpected content in the tool `{brief(name)}`"
                help_ = "delete it; only the built-in `read_file` has content: `<read id path/>`"
                self._refuse(CHATMD_BAD_TOOL, headline, node.span, help_)
            elif not node.value("id") or not node.value("path"):
                headline = "`<read>` needs an `id` and a `path`"
                help_ = 'write `<read id="…" path="…"/>`'
                self._refuse(CHATMD_BAD_TOOL, headline, node.start, help_)
            else:
                yield ReadRoot(node.value("id"), node.value("path"), node.value("description"))

    def _server(self) -> McpTools:
        self.not_run("MCP servers")
        listed = self._value("name") or self._value("include") or self._value("includes")
        return McpTools(
            address=self._value("mcp_server"),
            selection=tuple(name for one in listed.split(",") if (name := one.strip())),
        )

    def not_run(self, what: str) -> None:
        """Warn that the chat ignores this element."""
        headline = f"Bylaw does not run {what}: the chat ignores this element"
        help_ = "use a tool with `command` or `agent`, or `<rules>` and `<policy>`"
        span = self._element.start
        self._found.append(warning(CHATMD_NOT_RUN, headline, self._source, span, help=help_))

    def _has(self, name: str) -> bool:
        return self._element.attribute(name) is not None

    def _refuse_tool(self, headline: str, help_: str) -> None:
        self._refuse(CHATMD_BAD_TOOL, headline, self._element.start, help_)

    def _refuse(self, code: Code, headline: str, span: Span, help_: str) -> None:
        self._found.append(error(code, headline, self._source, span, help=help_))
