"""Documents of the context language for tests, and what loading them says."""

from pathlib import Path

from bylaw.languages.context.blocks import DocumentError
from bylaw.languages.context.output import Payload, current_values
from bylaw.languages.context.reader import read_document
from bylaw.model.session import Variables
from bylaw.model.source import SourceFile

SEED = Path(__file__).parents[2] / "data" / "seeds" / "002_cc375649dfc3acb2.txt"


def block(type_, *lines):
    """A block of a type."""
    return "\n".join((f"[[{type_}]]", *lines, f"[[/{type_}]]"))


def module(*blocks, name="m"):
    """A module of blocks."""
    return block("MODULE", f"name: {name}", "description: d", *blocks) + "\n"


def sources(*texts):
    """Texts as the files `a.md`, `b.md` …"""
    return [SourceFile(f"{chr(97 + number)}.md", text) for number, text in enumerate(texts)]


def loaded(*texts):
    """The document of files."""
    return read_document(sources(*texts))


def initial_state(document):
    """The variables of a new session."""
    return current_values(document, Variables())


def problems(*texts):
    """What is wrong with a document, in the order in which it is told."""
    try:
        read_document(sources(*texts))
    except DocumentError as wrong:
        return wrong.problems
    return []


def payload(*texts):
    """The payload of the first error; empty if the document loads."""
    found = problems(*texts)
    return Payload.of(found[0]).text() if found else ""


def told(*texts):
    """Code, block type, id and line of the first error."""
    found = problems(*texts)
    assert found, "it loads"
    first = found[0]
    return first.code.name, first.place.block_type, first.place.id, first.place.line


def codes(*texts):
    """The codes of all errors."""
    return [one.code.name for one in problems(*texts)]
