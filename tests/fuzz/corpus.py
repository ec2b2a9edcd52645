"""The inputs that fuzzing begins with: real ones, and those that once broke something.

`corpus/TARGET/lines.txt` holds an input a line; every other file of the folder is one input.
"""

import json
import re
from pathlib import Path

from bylaw.model.source import SourceFile
from bylaw.report.suites.page import CommandStep
from bylaw.report.suites.reader import read_page

HERE = Path(__file__).parent
TESTS = HERE.parent
SPEC = TESTS.parent / "spec"
EXAMPLES = TESTS.parent / "examples"
LINES = "lines.txt"
_BLOCK = r"(?ms)^ *<(?:rules|policy)>.*?^ *</(?:rules|policy)>\n"


def corpus(target):
    """Every input of a target, in the same order each time."""
    stored = sorted((HERE / "corpus" / target).iterdir())
    inputs = [one for file in stored for one in _inputs(file)]
    return [b"", *inputs, *_REAL.get(target, list)()]


def _inputs(file):
    data = file.read_bytes()
    return data.removesuffix(b"\n").split(b"\n") if file.name == LINES else [data]


def _pages():
    return [path.read_bytes() for path in sorted(SPEC.rglob("*.md"))]


def _steps():
    for path in sorted(SPEC.rglob("*.md")):
        for case in read_page(SourceFile.decode(path.name, path.read_bytes())).cases:
            for step in case.steps:
                if isinstance(step, CommandStep) and step.words[1:2] == ("expr",):
                    yield case, step


def _expressions(toml):
    return [
        step.words[2].encode("utf-8", "surrogateescape")
        for _, step in _steps()
        if ("toml" in step.words) is toml and len(step.words) > 2
    ]


def _facts():
    texts = {file.text for case, _ in _steps() for file in case.files}
    return [text.encode() for text in sorted(texts)]


def _captures():
    """Payloads of other programs: no events, but JSON as it really comes."""
    files = sorted((TESTS / "data" / "captures").rglob("*.json"))
    return [json.dumps(json.loads(file.read_bytes())).encode() for file in files[::8]]


def _rule_files():
    """Of the examples and of every case that shows one."""
    examples = [path.read_bytes() for path in sorted(EXAMPLES.rglob("*.toml"))]
    pages = sorted((SPEC / "toml-rules").glob("*.md"))
    cases = [
        case
        for path in pages
        for case in read_page(SourceFile.decode(path.name, path.read_bytes())).cases
    ]
    texts = {file.text for case in cases for file in case.files if file.word == "toml"}
    return [*examples, *(text.encode() for text in sorted(texts))]


def _chats():
    """The rules and policies that documents show."""
    texts = [path.read_text() for path in (TESTS / "data" / "seeds").iterdir()]
    return [block.encode() for text in texts for block in re.findall(_BLOCK, text)]


def _contexts():
    """Of every case that shows a document of the context language."""
    cases = [
        case
        for path in sorted((SPEC / "context").glob("*.md"))
        for case in read_page(SourceFile.decode(path.name, path.read_bytes())).cases
    ]
    texts = {file.text for case in cases for file in case.files if file.word == "context"}
    return [text.encode() for text in sorted(texts)]


def _laws():
    """The law files of the examples."""
    return [path.read_bytes() for path in sorted((EXAMPLES / "law").rglob("*.yaml"))]


def _documents():
    return [path.read_bytes() for path in sorted((TESTS / "data" / "seeds").iterdir())]


_REAL = {
    "guards": lambda: _expressions(toml=False),
    "conditions": lambda: _expressions(toml=True),
    "facts": _facts,
    "events": _captures,
    "pages": lambda: [*_pages(), *_documents()],
    "yaml": lambda: [*_captures(), *_documents()],
    "toml_rules": _rule_files,
    "chatmd": lambda: [*_pages(), *_documents()],
    "chatmd_rules": _chats,
    "context": lambda: [*_contexts(), *_documents()],
    "law": lambda: [*_laws(), *_documents()],
    "toml": lambda: [(TESTS.parent / "pyproject.toml").read_bytes(), *_documents()],
}
