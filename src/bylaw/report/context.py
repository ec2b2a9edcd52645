"""Read, run and complete context documents: the work behind `bylaw context`.

Given files form one document. Messages are decided by the engine with the rules of the document,
without performing effects; there is no second interpreter of the language. The first phase of the
language reports a file that is not text as PARSE_ERROR.
"""

from __future__ import annotations

import json
import re
from enum import StrEnum
from typing import TYPE_CHECKING, cast

from msgspec import Struct

from bylaw.engine.index import RuleSet
from bylaw.languages import context
from bylaw.languages.base import RuleFile
from bylaw.languages.context.blocks import DocumentError, Place, Problem
from bylaw.languages.context.commands import called_name
from bylaw.languages.context.declarations import ArgumentKind
from bylaw.languages.context.lowering import lower_document, no_rules
from bylaw.languages.context.output import Payload, current_values
from bylaw.languages.context.reader import read_document
from bylaw.languages.context.references import Symbol
from bylaw.languages.context.types import BOOL, EnumType, Primitive
from bylaw.model.codes.context import PARSE_ERROR
from bylaw.model.codes.files import NO_RULE_FILES, NOT_UTF8, TOO_LARGE
from bylaw.model.errors import LoadError, load_error
from bylaw.model.event import DEFAULT_SESSION, Prompt
from bylaw.model.session import EnabledNames
from bylaw.model.source import SourceFile, Span
from bylaw.model.vocabulary import Verdict
from bylaw.report.log import require_session
from bylaw.runtime.loader import Library, make_book, text_digest
from bylaw.runtime.root import find_root
from bylaw.runtime.rule_files import RuleFileReason, read_rule_texts, search_given
from bylaw.runtime.submit import DryRun
from bylaw.store.journal.search import JournalReader, session_before

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bylaw.languages.base import Language
    from bylaw.languages.context.declarations import CommandForm, Document, ParameterForm
    from bylaw.languages.context.types import Type
    from bylaw.model.decision import Decision
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.procedure import Group
    from bylaw.model.session import Session, Variables
    from bylaw.model.values import JSON
    from bylaw.runtime.loader import LoadedBook
    from bylaw.runtime.rule_files import FoundRuleFile, RuleText, SearchResult

# A file that is not text fails framing, the first phase of the language: PARSE_ERROR.
_NOT_TEXT_CODES = (NOT_UTF8.name, TOO_LARGE.name)


class ContextFiles(Struct, frozen=True):
    """Files in the order of their paths, with their document, or its problems."""

    search: SearchResult
    files: tuple[tuple[FoundRuleFile, RuleFile], ...]
    document: Document | None
    problems: tuple[Problem, ...]

    @property
    def required_document(self) -> Document:
        """The document. Raises LoadError if it does not load."""
        if self.document is None:
            raise LoadError(self.diagnostics)
        return self.document

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """The problems as diagnostics."""
        return [problem.diagnostic() for problem in self.problems]

    @property
    def book(self) -> LoadedBook:
        """The book of the document, without rules if it does not load."""
        found = [one for one, _ in self.files]
        texts = {file.path: file for _, file in self.files}
        return make_book(cast("Language", context), found, texts, self._groups(), {})

    def _groups(self) -> tuple[Group, ...]:
        if self.document is None:
            return no_rules()
        return lower_document(self.document, {file.path: file.digest for _, file in self.files})

    @property
    def library(self) -> Library:
        """The document as a library, as reports need it."""
        return Library(self.search, (self.book,), tuple(self.diagnostics), ())


def read_context_files(
    paths: Sequence[str], tell: Callable[[str], None] = lambda _: None
) -> ContextFiles:
    """Read files, and files in folders, as one document.

    Raises LoadError if a file cannot be read, or if there is no context document.
    """
    search = search_given(find_root(), paths)
    if search.refusals:
        raise LoadError(list(search.refusals))
    texts = [text for text in read_rule_texts(search, tell) if _is_selected(text)]
    if not texts:
        headline = f"no context document in `{paths[0]}`"
        raise load_error(NO_RULE_FILES, headline, SourceFile(paths[0], ""), Span(0, 0))
    files = tuple((text.found, _rule_file(text)) for text in texts)
    problems = tuple(_text_problems(texts))
    if problems:
        return ContextFiles(search, files, None, problems)
    try:
        document = read_document([file.source for _, file in files])
    except DocumentError as wrong:
        return ContextFiles(search, files, None, tuple(wrong.problems))
    return ContextFiles(search, files, document, ())


def _is_selected(text: RuleText) -> bool:
    """Accept every file given by path, and files of a folder that are in this language."""
    found = text.found
    if found.why is RuleFileReason.GIVEN:
        return True
    is_ours = found.dialect in ("", context.name) and found.path.endswith(context.suffixes)
    return is_ours and context.detect(text.source)


def _rule_file(text: RuleText) -> RuleFile:
    return RuleFile(text.source, text_digest(text.source.text))


def _text_problems(texts: Sequence[RuleText]) -> Iterator[Problem]:
    for text in texts:
        for why in text.errors:
            if why.code not in _NOT_TEXT_CODES:
                raise LoadError([why])
            place = Place(why.source, why.span)
            yield Problem(PARSE_ERROR, why.headline, place, why.help)


class MessageResult(StrEnum):
    """Result of a message."""

    OK = "ok"
    ERROR = "error"
    WARNING = "warning"
    PROSE = "prose"


class MessageAnswer(Struct, frozen=True):
    """The result of a message, its visible output, and the state after it.

    The output is empty for prose and for a call that ran, as the language demands. If a message
    has several lines, a warning is shown even if another line is a call that ran.
    """

    message: str
    result: MessageResult
    output: str
    state: dict[str, JSON]
    enabled: EnabledNames


class Conversation:
    """One session. If the document does not load, every answer is its first error."""

    def __init__(self, given: ContextFiles, session: Session | None = None) -> None:
        self._given = given
        self._rehearsal = DryRun(RuleSet((given.book.book,)))
        if session is not None:
            self._rehearsal.sessions[session.id] = session
        self._id = DEFAULT_SESSION if session is None else session.id

    @property
    def slate(self) -> Variables:
        """Current variables and enabled names."""
        return self._rehearsal.session(self._id).slate

    def say(self, message: str) -> MessageAnswer:
        """Decide a message of the person. It may have several lines."""
        document = self._given.document
        if document is None:
            payload = Payload.of(self._given.problems[0]).text()
            return MessageAnswer(message, MessageResult.ERROR, payload, {}, EnabledNames())
        said = Prompt(session=self._id, text=message)
        decision = self._rehearsal.submit(said).decision
        slate = self.slate
        return MessageAnswer(
            message, *_result_and_output(decision), current_values(document, slate), slate.enabled
        )


def _result_and_output(decision: Decision) -> tuple[MessageResult, str]:
    halts = [one.text for one in decision.reasons if one.verdict is Verdict.HALT]
    if halts:
        return MessageResult.ERROR, halts[0]  # a payload is the complete output (AC-132)
    warnings = [one.text for one in decision.reasons if one.verdict is Verdict.WARN]
    if warnings:
        return MessageResult.WARNING, "\n".join(warnings)
    return (MessageResult.OK if decision.plans else MessageResult.PROSE), ""


class ContextVariable(Struct, frozen=True):
    """A variable with its qualified name, its type in canonical form, and its value."""

    name: str
    type: str
    value: JSON


def variables(document: Document, slate: Variables) -> list[ContextVariable]:
    """Return all variables in the order of the document."""
    types = {name: str(one.what.type) for name, one in document.states.by_qualified.items()}
    return [
        ContextVariable(name, types[name], value)
        for name, value in current_values(document, slate).items()
    ]


def recorded_session(path: str, name: str, tell: Callable[[str], None]) -> Session:
    """Return a session after its last record. Raise JournalError if it is unknown."""
    with JournalReader(path) as reader:
        require_session(reader, name)
        return session_before(reader, name, reader.newest + 1, tell).session


# A word to complete begins after one of these.
DELIMITERS = " \t(,="
_BARE = re.compile(r"(?!(?:true|false|null)$)[A-Za-z_][A-Za-z0-9_-]*")
# Commas in quotes and brackets do not separate arguments. Unclosed ones extend to the end.
_PART = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[{(]|[\]})]|,|[^"\[\]{}(),]+')
MAX_WORDS = 400  # a longer list is of no use


def completions(document: Document, line: str) -> list[str]:
    """Return the sorted words that can complete the last word of a line."""
    if "(" not in line:
        found = _command_words(document, line)
    else:
        last = re.split(f"[{DELIMITERS}]", line)[-1]
        found = (word for word in _argument_words(document, line) if word.startswith(last))
    return sorted(set(found))[:MAX_WORDS]


def _command_words(document: Document, begun: str) -> Iterator[str]:
    """Yield calls by qualified name, and by short name if it is unique."""
    for name, symbol in document.commands.by_qualified.items():
        end = "(" if symbol.what.parameters else "()"
        is_unique = document.commands.find(symbol.name) is symbol
        for call in (f"/{name}{end}", f"/{symbol.name}{end}" if is_unique else ""):
            if call.startswith(begun or "/"):
                yield call


def _argument_words(document: Document, line: str) -> Iterator[str]:
    found = document.commands.find(called_name(line))
    if not isinstance(found, Symbol):
        return
    begun = _split_arguments(line[line.index("(") + 1 :])
    if begun is None:
        return
    yield from _words_for_last(found.what, begun)


def _words_for_last(form: CommandForm, given: list[str]) -> Iterator[str]:
    """Yield words for the last argument."""
    *before, last = given
    if form.kind is ArgumentKind.POSITIONAL:
        if len(before) < len(form.parameters):
            yield from _words_of_type(form.parameters[len(before)].type)
        return
    name, equals, _ = last.partition("=")
    used = {one.partition("=")[0].strip() for one in before}
    if equals:
        yield from _words_for_parameter(form, name.strip())
    else:
        yield from (f"{one.name}=" for one in form.parameters if one.name not in used)


def _words_for_parameter(form: CommandForm, name: str) -> Iterator[str]:
    wanted: ParameterForm | None = next((one for one in form.parameters if one.name == name), None)
    if wanted is not None:
        yield from _words_of_type(wanted.type)


def _words_of_type(type_: Type) -> Iterator[str]:
    if isinstance(type_, EnumType):
        for value in type_.values:
            yield value if _BARE.fullmatch(value) else json.dumps(value, ensure_ascii=False)
    elif type_ == Primitive(BOOL):
        yield from ("true", "false")


def _split_arguments(text: str) -> list[str] | None:
    """Split the arguments typed so far. None if the line ends inside of a text or list."""
    parts, depth = [""], 0
    for found in _PART.finditer(text):
        piece = found[0]
        if piece in "[{(":
            depth += 1
        elif piece in "]})":
            depth -= 1
        elif piece == "," and not depth:
            parts.append("")
            continue
        parts[-1] += piece
    is_open = depth != 0 or (parts[-1].strip().startswith('"') and parts[-1].count('"') == 1)
    return None if is_open else parts
