"""Documents of the context language: read, formatted, called; and calls of a document that loads."""

from invariants import check_calm, check_diagnostics, check_span, refused

from bylaw.engine.decide import decide
from bylaw.engine.index import RuleSet
from bylaw.languages import context as dialect
from bylaw.languages.base import RuleFile
from bylaw.languages.context.blocks import DocumentError
from bylaw.languages.context.output import Payload, current_values, is_payload, render_state
from bylaw.languages.context.reader import read_document
from bylaw.languages.context.types import EnumType, Primitive, mismatch
from bylaw.model.event import Prompt, ToolBefore, TurnEnd
from bylaw.model.fold import fold
from bylaw.model.procedure import Book
from bylaw.model.session import Session, Variables, encode_session
from bylaw.model.source import SourceFile
from bylaw.model.vocabulary import Verdict
from bylaw.report.context_format import format_source

MAX_CALLS = 10
VALUES = {"Bool": "true", "Int": "7", "String": '"${$arg0}\\n`|"'}
DOCUMENT = """\
[[MODULE]]
name: m
description: d
[[ENUM]]
name: E
values: [a, b-c, "two words", true_]
[[/ENUM]]
[[STATE]]
name: e
type: E
default: a
[[/STATE]]
[[STATE]]
name: s
type: String
[[/STATE]]
[[STATE]]
name: l
type: Map<String, List<Set<Int>>>
[[/STATE]]
[[COMMAND]]
name: set
args: {kind: positional, positional: [{name: x, type: E}, {name: y, type: String}]}
effects:
  set_state: [{name: e, value: $arg0}, {name: s, value: "x${$arg1}${$state.s}"}]
[[/COMMAND]]
[[COMMAND]]
name: named
args: {kind: named, named: [{name: l, type: "Map<String, List<Set<Int>>>"}]}
effects: {set_state: [{name: l, value: $l}]}
[[/COMMAND]]
[[COMMAND]]
name: go
[[/COMMAND]]
[[/MODULE]]
[[MODULE]]
name: n
description: d
[[COMMAND]]
name: go
[[/COMMAND]]
[[/MODULE]]
"""


def context(data):
    """Whole documents: every error in its text, one payload; what loads can be called."""
    source = refused(SourceFile.decode, "input.md", data)
    if source is None:
        return
    dialect.detect(source)
    try:
        document = read_document([source])
    except DocumentError as wrong:
        check_problems(wrong.problems)
        return
    check_formatted(source, document)
    lines = [line for name in document.commands.by_qualified for line in calls_of(document, name)]
    talk(source, document, lines[:MAX_CALLS])


def check_problems(problems):
    """Each has its place, and each can be the whole output of a turn."""
    check_diagnostics([one.diagnostic() for one in problems])
    for one in problems:
        check_span(one.place.span, one.place.source)
        text = Payload.of(one).text()
        assert is_payload(text), text
        check_calm(text)


def check_formatted(source, document):
    """The canonical form means the same, and has itself as its canonical form."""
    once = SourceFile(source.path, format_source(source))
    assert format_source(once) == once.text
    again = read_document([once])
    assert current_values(again, Variables()) == current_values(document, Variables())
    for name in ("enums", "states", "commands", "responses", "workflows", "protocols"):
        assert list(getattr(again, name).by_qualified) == list(getattr(document, name).by_qualified)


def calls_of(document, name):
    """A call that might fit, and one that hardly does."""
    form = document.commands.by_qualified[name].what
    given = [f"{one.name}={value_of(one.type)}" for one in form.parameters]
    if form.kind == "positional":
        given = [text.partition("=")[2] for text in given]
    return f"/{name}({', '.join(given)})", f"/{name}({', '.join(given)}, 1)"


def value_of(type_):
    """Some value as it is written in a call."""
    if isinstance(type_, EnumType):
        return type_.values[0]
    return VALUES[type_.name] if isinstance(type_, Primitive) else "[]"


def context_calls(data):
    """Messages to one document: any text is a call, an error, a warning or prose."""
    source = SourceFile("m.md", DOCUMENT)
    lines = data.decode("utf-8", "replace").split("\n")
    talk(source, read_document([source]), [*lines[:MAX_CALLS], "\n".join(lines)])


def talk(source, document, messages):
    """Along a session state has its types, errors their form, and both paths say the same."""
    loaded = dialect.load([RuleFile(source, "digest")])
    book = Book(dialect=dialect.name, path="a", files=(), digest="", groups=loaded.groups)
    fast, slow = RuleSet([book]), RuleSet([book], fast=False)
    session = Session()
    for number, message in enumerate(messages):
        for event in (
            Prompt(text=message, seq=1, at=number),
            ToolBefore(tool="web.run", seq=1, at=number),
            TurnEnd(text=message, final=True, seq=1, at=number),
        ):
            quick = decide(fast, session, event)
            assert quick == decide(slow, session, event)
            check_halts(quick)
            session = fold(session, event, quick)
        encode_session(session)
        check_state(document, session.slate)


def check_halts(decision):
    """An error is a payload, and it is the only one."""
    halts = [one.text for one in decision.reasons if one.verdict is Verdict.HALT]
    assert len(halts) <= 1
    for text in halts:
        assert is_payload(text), text
        check_calm(text)


def check_state(document, slate):
    """Every variable has its type, and a model can be told all of it."""
    for name, value in current_values(document, slate).items():
        type_ = document.states.by_qualified[name].what.type
        assert not mismatch(value, type_), (name, value)
    check_calm(render_state(document, slate))
