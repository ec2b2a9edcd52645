"""The pages of languages, and of the machine interface, name everything that is a word there.

Their examples are run by `tests/test_spec.py`, their tables of data are written by `make docs`.
"""

import inspect
import re
from pathlib import Path

import pytest

from bylaw.expr.limits import MAX_ITEMS, MAX_OUTPUT_CHARS
from bylaw.expr.template.filters import FILTERS, TESTS
from bylaw.hosts.chat import blocks
from bylaw.hosts.chat.tools.declarations import BUILT_IN_NAMES
from bylaw.languages.chatmd import action_reader, header, reader, syntax
from bylaw.languages.chatmd.elements import PARENTS
from bylaw.languages.chatmd.scanner import KNOWN
from bylaw.languages.context import blocks as context_blocks
from bylaw.languages.context import declarations, schema
from bylaw.languages.context.output import ERROR_RESPONSE
from bylaw.languages.context.schema import CHECK_FIELDS, ENABLED_KINDS, TEXT_KINDS
from bylaw.languages.context.types import BUILT_IN
from bylaw.languages.toml_rules.actions import FIELDS
from bylaw.languages.toml_rules.reader import (
    CONDITION_KEYS,
    FIRST_PRIORITY,
    LAST_PRIORITY,
    RULE_KEYS,
)
from bylaw.languages.toml_rules.syntax import Hook
from bylaw.model.codes import Code
from bylaw.model.codes import context as codes
from bylaw.model.decision import Reason, TraceLine, TraceResult
from bylaw.model.event import Common
from bylaw.model.facts import LawFacts, ToolFacts, WorkFacts
from bylaw.model.history import NO_ROLE
from bylaw.model.vocabulary import (
    CallStatus,
    Category,
    DeliverAt,
    EffectStatus,
    Level,
    Priority,
    Role,
    Verdict,
)
from bylaw.runtime.rule_files import CONVENTION

CHATMD_WORDS = [
    *(reader.MAX_ACTIONS, reader.MAX_CALLS, reader.TRACE),
    *(*syntax.EventName, *syntax.InsertRole, *syntax.Mode, *syntax.Level),
    *(*Role, NO_ROLE, syntax.DEFAULT_KEEP, syntax.DEFAULT_STRATEGY),
]
CONTEXT_READERS = {"MODULE": schema.read_module, **schema.READERS}
# The functions that read an element of rules and policy; each closes the list of its attributes.
CHATMD_READERS = {
    **action_reader._READERS,
    **reader._READERS,
    "check": reader._check,
}
CONTEXT_WORDS = [
    *(
        *declarations.CheckType,
        *CHECK_FIELDS.values(),
        *declarations.StepKind,
        *declarations.ArgumentKind,
    ),
    *(*ENABLED_KINDS, *TEXT_KINDS, *declarations.Constraints.__struct_fields__, ERROR_RESPONSE),
]
MACHINE_WORDS = [
    *(*CallStatus, *EffectStatus, *TraceResult, *(one.value for one in Verdict)),
    *(*Common.__struct_fields__, *Reason.__struct_fields__, *TraceLine.__struct_fields__),
]
DOCS = Path(__file__).parents[2] / "docs"


def text_of(page):
    return (DOCS / f"{page}.md").read_text(encoding="utf-8")


def all_facts():
    return [field for of in (ToolFacts, WorkFacts, LawFacts) for field in of.__struct_fields__]


def context_codes():
    return [code.name for code in vars(codes).values() if isinstance(code, Code)]


def closed(read):
    """The attributes that a reader of an element lets pass."""
    [listed] = re.findall(r"\.close\((.*)\)$", inspect.getsource(read), re.MULTILINE)
    return set(re.findall(r'"(\w+)"', listed))


def asked(module):
    """The attributes that a module asks elements for by name."""
    form = r'(?:\.value|_value|_has|_number)\("(\w+)"'
    return set(re.findall(form, inspect.getsource(module)))


def named(page):
    """What stands in backticks outside of blocks, and each part of it."""
    return parts(re.sub(r"^(```+).*?^\1$", "", text_of(page), flags=re.MULTILINE | re.DOTALL))


def parts(prose):
    return {
        part
        for code in re.findall(r"`([^`]+)`", prose)
        for part in (code, *re.findall(r"<?[\w.-]+", code), *re.findall(r"\w+", code))
    }


@pytest.mark.parametrize(
    ("page", "names"),
    [
        pytest.param("chatmd", [f"<{name}" for name in (*PARENTS, *KNOWN)], id="chatmd elements"),
        pytest.param("chatmd", reader.ON_ATTRIBUTES, id="chatmd rules"),
        pytest.param("chatmd", CHATMD_WORDS, id="chatmd words"),
        pytest.param("chatmd", asked(header), id="chatmd declarations"),
        pytest.param("chatmd", asked(blocks), id="chatmd blocks"),
        pytest.param("chatmd", header._KNOWN_ATTRIBUTES, id="chatmd imports"),
        pytest.param("chatmd", BUILT_IN_NAMES, id="chatmd tools"),
        pytest.param("context", context_blocks.BLOCK_TYPES, id="context blocks"),
        pytest.param("context", CONTEXT_WORDS, id="context words"),
        pytest.param("context", BUILT_IN, id="context types"),
        pytest.param("context", context_codes(), id="context codes"),
        pytest.param("machine-interface", MACHINE_WORDS, id="shapes"),
        pytest.param("machine-interface", all_facts(), id="facts"),
        pytest.param("toml-rules", [*RULE_KEYS, *CONDITION_KEYS], id="toml keys"),
        pytest.param("toml-rules", Hook, id="toml triggers"),
        pytest.param("toml-rules", [*FIELDS, *(f for of in FIELDS.values() for f in of)], id="toml actions"),
        pytest.param("toml-rules", [*Category, *DeliverAt, *Level, *Priority], id="toml words"),
        pytest.param("toml-rules", [*FILTERS, *TESTS], id="toml templates"),
    ],
)  # fmt: skip
def test_every_name_is_explained(page, names):
    assert {str(name) for name in names} - named(page) == set()


def needed(read):
    """The attributes without which a reader refuses an element."""
    source = inspect.getsource(read)
    found = re.findall(r'(?:required|tool_name|read_expression)\((?:reader, )?"(\w+)"', source)
    return {*found, *re.findall(r'choice\("(\w+)".*required=True', source)}


@pytest.mark.parametrize("element", CHATMD_READERS)
def test_every_attribute_stands_in_the_row_of_its_element(element):
    read = CHATMD_READERS[element]
    before = text_of("chatmd").partition("## The rest")[0]
    [row] = re.findall(rf"^\| `<{element}\b.*$", before, re.MULTILINE)
    first, second = (closed(read) & parts(cell) for cell in row.split("|")[2:4])
    # One of a quota's two is needed, and the name of a variable is read elsewhere.
    elsewhere = {"quota": closed(read), "set": {"var"}}.get(element, set())

    assert (first, second) == (needed(read) | elsewhere, closed(read) - needed(read) - elsewhere)


@pytest.mark.parametrize("block", CONTEXT_READERS)
def test_needed_keys_of_a_block_stand_apart_from_the_others(block):
    source = inspect.getsource(CONTEXT_READERS[block])
    lists = re.findall(r"closed\(\(([^)]*)\)(?:, \(([^)]*)\))?\)", source)
    needed, others = (set(re.findall(r"\w+", " ".join(one))) for one in zip(*lists, strict=True))
    [row] = re.findall(rf"^\| `{block}` .*$", text_of("context"), re.MULTILINE)
    first, second = (parts(cell) for cell in row.split("|")[2:4])

    assert (first, second) == (needed, {name.lower() for name in others})


def test_a_set_says_that_it_refuses_doubles():
    [row] = re.findall(r"^\| `Set<T>` .*$", text_of("context"), re.MULTILINE)
    assert "twice" in row


@pytest.mark.parametrize(
    ("page", "told"),
    [
        ("toml-rules", f"{FIRST_PRIORITY} to {LAST_PRIORITY}"),
        ("toml-rules", f"{MAX_ITEMS:,}\nelements"),
        ("toml-rules", f"{MAX_OUTPUT_CHARS:,} characters"),
    ],
)
def test_numbers_are_those_of_the_code(page, told):
    assert told in text_of(page)


@pytest.mark.parametrize(
    ("page", "dialect"), [("chatmd", "chatmd"), ("context", "context"), ("toml-rules", "toml")]
)
def test_places_are_those_of_the_code(page, dialect):
    places = [place for place in CONVENTION if place.dialect == dialect]
    assert {f"{one.folder}/" if one.folder else one.names for one in places} - named(page) == set()
