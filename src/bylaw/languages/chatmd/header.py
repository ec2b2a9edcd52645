"""The top of a ChatMD file: imports, declarations, and the part that its rules depend on.

Imports are replaced by the elements of their files. A path is relative to the folder of the file
that contains the import; files outside of the folder of the first file are not read. Rules belong
to the chat file: errors in an imported file are moved to the place of the import.
The digest of the rules and the journal use only settings, tools, rules, policies and imports,
because a chat grows with every turn while its rules stay the same.
"""

from __future__ import annotations

import re
from posixpath import basename, dirname, join, normpath
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from bylaw.languages.base import SiblingFileError
from bylaw.languages.chatmd.parser import parse, parse_cached
from bylaw.languages.chatmd.scanner import CommentNode, Element
from bylaw.model.codes.chatmd import (
    CHATMD_BAD_NUMBER,
    CHATMD_BAD_TOOL,
    CHATMD_IMPORT,
    CHATMD_IMPORT_ATTRIBUTE,
    CHATMD_NOT_RUN,
)
from bylaw.model.diagnostic import Severity, error, has_errors, warning
from bylaw.model.display import brief
from bylaw.model.source import BOM, SourceFile
from bylaw.model.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bylaw.languages.base import SiblingFiles
    from bylaw.languages.chatmd.elements import ElementReader
    from bylaw.languages.chatmd.scanner import ChatDocument
    from bylaw.model.codes import Code
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.source import Span

IMPORT = "import"
MAX_IMPORT_DEPTH = 16  # files in one chain of imports
MAX_IMPORTS = 256  # of one chat; each use counts
ATTRIBUTES = ("src", "namespace")
# Older files have `local`. It changes nothing.
_KNOWN_ATTRIBUTES = frozenset((*ATTRIBUTES, "local"))

PlacedElement: TypeAlias = tuple[Element, SourceFile]
"""An element, and the source that contains it."""


def expand_imports(
    document: ChatDocument, beside: SiblingFiles
) -> tuple[list[PlacedElement], list[Diagnostic]]:
    """Return the elements of a file and its imports, with findings about imports."""
    importing = _ImportReader(document, beside)
    importing.expand(document, (basename(document.source.path),))
    return importing.placed, importing.found


class _ImportReader:
    """Follows the imports of one chat."""

    def __init__(self, document: ChatDocument, beside: SiblingFiles) -> None:
        self.placed: list[PlacedElement] = []
        self.found: list[Diagnostic] = []
        self._folder = dirname(document.source.path)
        self._beside = beside
        self._documents: dict[str, ChatDocument] = {}
        self._count = 0

    def expand(self, document: ChatDocument, chain: tuple[str, ...]) -> None:
        """Add the elements of a file. `chain` has the paths that lead to it, and its own path."""
        for element in document.elements:
            if element.name == IMPORT:
                self._import(element, document.source, chain)
            else:
                self.placed.append((element, document.source))

    def _import(self, element: Element, source: SourceFile, chain: tuple[str, ...]) -> None:
        self._check_attributes(element, source)
        path = normpath(join(dirname(chain[-1]), element.value("src")))
        try:
            imported = self._document(element, path, chain)
        except SiblingFileError as wrong:
            help_ = "write a path relative to the folder of the importing file"
            self.found.append(error(CHATMD_IMPORT, str(wrong), source, element.start, help=help_))
        else:
            self.expand(imported, (*chain, path))

    def _document(self, element: Element, path: str, chain: tuple[str, ...]) -> ChatDocument:
        """Read the file at a path. Raises `SiblingFileError` if it cannot be imported."""
        self._count += 1
        if not element.value("src"):
            raise SiblingFileError("`<import>` has no `src`")
        if path in chain:
            raise SiblingFileError(f"`{brief(path)}` imports itself: {_cycle_text(chain, path)}")
        if len(chain) > MAX_IMPORT_DEPTH:
            raise SiblingFileError(f"imports are more than {MAX_IMPORT_DEPTH} levels deep")
        if self._count > MAX_IMPORTS:
            raise SiblingFileError(f"the chat has more than {MAX_IMPORTS} imports")
        if path not in self._documents:
            named = SourceFile(join(self._folder, path), self._beside.read(path))
            self._documents[path], found = parse(named)
            self.found += found
        return self._documents[path]

    def _check_attributes(self, element: Element, source: SourceFile) -> None:
        for attribute in element.attributes:
            if attribute.name not in _KNOWN_ATTRIBUTES:
                headline = f"unknown attribute `{brief(attribute.name)}` in `<import>`"
                help_ = did_you_mean(attribute.name, ATTRIBUTES)
                self.found.append(
                    warning(CHATMD_IMPORT_ATTRIBUTE, headline, source, attribute.span, help=help_)
                )


def _cycle_text(chain: tuple[str, ...], path: str) -> str:
    files = (*chain[chain.index(path) :], path)
    return " → ".join(f"`{brief(one)}`" for one in files)


class ImportPlaces:
    """The imports of a file, by the paths of the imported files."""

    def __init__(self, document: ChatDocument, placed: Iterable[PlacedElement]) -> None:
        self._source = document.source
        folder = dirname(document.source.path)
        imports = [one for one in document.elements if one.name == IMPORT]
        self._first = imports[0] if imports else None
        self._through: dict[str, Element] = {}
        for one in imports:
            self._through.setdefault(normpath(join(folder, one.value("src"))), one)
        through = self._first
        for _, source in placed:
            # A file that an imported file imports belongs to the same import.
            through = self._through.get(source.path, through)
            if through is not None:
                self._through.setdefault(source.path, through)

    def span(self, reader: ElementReader) -> Span:
        """Return the place of an element, or of the import that it comes from."""
        through = None if reader.source is self._source else self._import(reader.source.path)
        return (through or reader.element).span

    def relocated(self, finding: Diagnostic) -> Diagnostic:
        """Move an error of an imported file to this file. Other findings stay as they are."""
        through = self._import(finding.source.path)
        if finding.severity is not Severity.ERROR or finding.source is self._source or not through:
            return finding
        line = finding.source.position(finding.span.start).line
        headline = f"`{finding.source.path}`, line {line}: {finding.headline}"
        return replace(
            finding,
            headline=headline,
            source=self._source,
            span=through.start,
            note="",
            labels=(),
            fix=None,
        )

    def _import(self, path: str) -> Element | None:
        return self._through.get(path, self._first)


RULE_ELEMENTS = frozenset(
    {"rules", "policy", "config", "tool", "import", "script", "shell_access", "moderator_runtime"}
)


def text_of_rules(source: SourceFile) -> str:
    """Return that part at its place; the complete text if it has errors."""
    document, findings = parse_cached(source)
    if has_errors(findings):
        return source.text
    pieces, at = [], 0
    for element in document.elements:
        if element.name in RULE_ELEMENTS:
            pieces.append(_blank(source.text[at : element.span.start]))
            pieces.append(source.text[element.span.start : element.span.end])
            at = element.span.end
    return "".join(pieces)


def _blank(text: str) -> str:
    """Return the line breaks of a text, and blanks in place of its last line."""
    mark = BOM if text.startswith(BOM) else ""
    _, _, last = text.removeprefix(BOM).rpartition("\n")
    return mark + "\n" * text.count("\n") + " " * len(last)


# A tool has at most one of these attributes. A tool without any of them is built in.
_KINDS = ("command", "agent", "mcp_server")
_READS_FILES = frozenset(("read_file", "get_contents"))
_NOT_RUN = {
    "script": "scripts",
    "shell_access": "shell runtimes",
    "moderator_runtime": "moderators",
}
MAX_DIGITS = 9
_WHOLE_NUMBER = re.compile(rf"[0-9]{{1,{MAX_DIGITS}}}")
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


def read_declarations(placed: Iterable[PlacedElement]) -> tuple[Declarations, list[Diagnostic]]:
    """Read the declarations of the elements at the top, with findings."""
    config: Config | None = None
    tools: list[Tool] = []
    found: list[Diagnostic] = []
    for element, source in placed:
        reader = _DeclarationReader(element, source, found)
        if element.name == "config":
            # Only the first `<config>` is used.
            config = config or reader.config()
        elif element.name == "tool":
            tools += reader.tool()
        elif element.name in _NOT_RUN:
            reader.warn_not_run(_NOT_RUN[element.name])
    return Declarations(config or Config(), tuple(tools)), found


class _DeclarationReader:
    """Reads one element. Findings are added to `found`."""

    def __init__(self, element: Element, source: SourceFile, found: list[Diagnostic]) -> None:
        self._element = element
        self._value = element.value
        self._source = source
        self._found = found

    def config(self) -> Config:
        whole = self._number("max_tokens", _WHOLE_NUMBER, "a whole number")
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
            yield from self._named_tool(self._value("name"), kinds[0] if kinds else "")

    def _named_tool(self, name: str, kind: str) -> Iterator[Tool]:
        if self._value("type") == "shell":
            self.warn_not_run("the long form of shell tools")
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
            if isinstance(node, CommentNode) or not self._source.slice(node.span).strip():
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
        self.warn_not_run("MCP servers")
        listed = self._value("name") or self._value("include") or self._value("includes")
        return McpTools(
            address=self._value("mcp_server"),
            selection=tuple(name for one in listed.split(",") if (name := one.strip())),
        )

    def warn_not_run(self, what: str) -> None:
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
