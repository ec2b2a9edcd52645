"""Documents that mean harm: the language's own error, soon, and with little memory."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from context_documents import block, loaded, module, problems, told
from hostile_documents import hostile_documents

from bylaw.engine.decide import decide
from bylaw.engine.index import RuleSet
from bylaw.languages.context.blocks import MAX_PROBLEMS
from bylaw.languages.context.lowering import lower_document
from bylaw.languages.context.output import has_table
from bylaw.model.event import Prompt
from bylaw.model.procedure import Book
from bylaw.model.session import Session
from bylaw.runtime.loader import load_paths
from contract_texts import DOC
from counting import growth

SECONDS = 10.0  # of this process; most documents take less than 1
MOST_BYTES = 512 * 1024 * 1024
CHILD = Path(__file__).parent / "load_hostile.py"
DOCUMENTS = list(hostile_documents())
NAMES = [name for name, _, _ in DOCUMENTS]


def rule_set(text):
    groups = lower_document(loaded(text), {})
    return RuleSet([Book(dialect="context", path="a", files=(), digest="", groups=groups)])


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """What became of each document, in one process that has little memory for all of them."""
    folder = tmp_path_factory.mktemp("hostile")
    paths = []
    for number, (_, data, _) in enumerate(DOCUMENTS):
        path = folder / f"{number}.md"
        path.write_bytes(data)
        paths.append(str(path))
    command = [sys.executable, str(CHILD), str(MOST_BYTES), *paths]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    assert done.returncode == 0, done.stderr[-2_000:]
    return dict(zip(NAMES, map(json.loads, done.stdout.splitlines()), strict=True))


@pytest.mark.parametrize(("name", "code"), [(name, code) for name, _, code in DOCUMENTS], ids=NAMES)
def test_a_hostile_document_is_judged_at_once(name, code, outcomes):
    assert outcomes[name]["code"] == code
    assert outcomes[name]["seconds"] < SECONDS


def test_code_in_a_message_is_no_burden():
    """Each line is nearly a call, but of no command."""
    commands = [block("COMMAND", f"name: c{number}") for number in range(2_000)]
    rules = rule_set(module(*commands))

    def answer(lines):
        text = "\n".join(["value = call()", "call()", "/call 1"] * lines)
        assert decide(rules, Session(), Prompt(text=text, seq=1, at=1)).reasons == ()

    assert growth(answer, 1_500) < 2.5


@pytest.mark.parametrize(
    "line", ["|-" + " " * 500_000 + "x", "|-" * 300_000 + "x", "-" * 500_000 + "|x"]
)
def test_a_line_that_is_nearly_the_rule_of_a_table(line):
    start = time.process_time()

    assert not has_table(f"| a |\n{line}")
    assert time.process_time() - start < SECONDS


def test_what_is_told_has_an_end():
    assert len(problems("[[/ENUM]]\n" * 10_000)) == MAX_PROBLEMS


def test_line_ends_of_windows_move_no_error():
    wrong = DOC.replace("p1]", "p2]")

    assert told(wrong) == told(wrong.replace("\n", "\r\n"))


@pytest.mark.parametrize("data", [b"\xff[[MODULE]]\n", b"[[MODULE]]\nname: \0\n[[/MODULE]]\n"])
def test_a_broken_document_denies(data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.md").write_bytes(data)
    (book,) = load_paths(["m.md"]).books

    assert book.broken == ("m.md",)
