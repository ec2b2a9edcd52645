"""What the tests of this folder read: the source, its names and its texts."""

import ast
import re
import tokenize
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "bylaw"
LANGUAGES = SOURCE / "languages"
# Rules, scripts and repositories that are copied. They are not part of the program.
_COPIED = ("hosts/bus/starter/", "hosts/demo/repository/")
_FIELD = re.compile(r"\{[^{}]*\}")  # in an f-string; before Python 3.12 it is one token
_FSTRING_MIDDLE = getattr(tokenize, "FSTRING_MIDDLE", -1)  # since Python 3.12


def modules():
    """Yield each module with its path below `src/bylaw`."""
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        if not name.startswith(_COPIED):
            yield name, path


def parse(path):
    """Return the syntax tree of a module."""
    return ast.parse(path.read_text(encoding="utf-8"))


def docstrings(tree):
    """Return the nodes of all docstrings."""
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return {
        node.body[0].value
        for node in ast.walk(tree)
        if isinstance(node, owners) and ast.get_docstring(node, clean=False) is not None
    }


def texts_of_python(path):
    """Yield comments, docstrings and other strings with more than one word, line by line."""
    with path.open(encoding="utf-8") as stream:
        tokens = list(tokenize.generate_tokens(stream.readline))
    for token in tokens:
        is_prose = token.type == _FSTRING_MIDDLE or (
            token.type == tokenize.STRING and " " in token.string
        )
        if token.type == tokenize.COMMENT or is_prose:
            text = token.string
            if token.type == tokenize.STRING and "f" in text[: text.find(text[-1])].lower():
                text = _FIELD.sub("{}", text)
            yield from _without_code(text).splitlines()


def texts_of_markdown(path):
    """Yield the lines of a page that are neither in a fenced block nor code."""
    fence = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        mark = re.match(r"\s*(`{3,}|~{3,})", line)
        if fence:
            if mark and mark[1].startswith(fence):
                fence = ""
        elif mark:
            fence = mark[1]
        else:
            yield _without_code(line)


def _without_code(text):
    return re.sub(r"(`+).+?\1", "``", text)
