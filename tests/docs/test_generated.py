"""The generated pages are those of this code, and every code is defined, used and explained."""

import ast
import sys
from importlib import import_module
from pathlib import Path

import pytest

from bylaw.model.codes import Code
from bylaw.report.printers.formats import all_codes

ROOT = Path(__file__).parent.parent.parent
CODES = ROOT / "src" / "bylaw" / "model" / "codes"
sys.path.insert(0, str(ROOT / "docs"))

import generate  # noqa: E402 - docs/ is no package
import provoke  # noqa: E402 - same

EVERY_CODE = sorted(all_codes())
# Exceptions that carry the name of a code as their first argument.
CARRY_A_CODE = {"EventError", "GuardError", "RenderError"}


@pytest.fixture(scope="module")
def pages():
    return generate.pages()


def test_pages_on_disk_are_up_to_date(pages):
    old = [
        path.name
        for path, text in pages.items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]

    assert old == [], "run `make docs`"


def test_no_page_is_left_of_a_code_that_is_gone(pages):
    assert generate.stale(pages) == []


def test_every_code_has_a_page_and_a_line_in_the_index(pages):
    index = pages[generate.DIAGNOSTICS / "README.md"]

    assert [name for name in EVERY_CODE if f"[{name}]({name}.md)" not in index] == []
    assert {generate.DIAGNOSTICS / f"{name}.md" for name in EVERY_CODE} <= set(pages)


@pytest.mark.parametrize("name", EVERY_CODE)
def test_the_example_provokes_its_own_code(name):
    assert name in provoke.provoke(all_codes()[name].example).codes


def test_no_two_codes_share_a_name():
    names = [code.name for _, code in constants()]

    assert sorted(names) == EVERY_CODE


def test_every_code_is_used():
    used = {name for path in sources() for name in names_in(path)}

    assert [name for name, _ in constants() if name not in used] == []


def test_every_code_that_is_written_as_text_is_defined():
    written = {code for path in sources() for code in codes_written_in(path)}

    assert written - set(EVERY_CODE) == set()


def constants():
    """Every `NAME = Code(…)` of the modules of codes."""
    for path in sorted(CODES.glob("[a-z]*.py")):
        for name, value in vars(import_module(f"bylaw.model.codes.{path.stem}")).items():
            if isinstance(value, Code):
                yield name, value


def sources():
    return [path for path in (ROOT / "src").rglob("*.py") if CODES not in path.parents]


def names_in(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr


def codes_written_in(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name), args=[ast.Constant(value=str(code)), *_]):
                if name in CARRY_A_CODE:
                    yield code
