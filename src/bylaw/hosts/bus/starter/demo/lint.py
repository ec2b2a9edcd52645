"""Check the Python files of this folder. Replace this with your own linter."""

import sys
from collections.abc import Iterator
from pathlib import Path


def findings(path: Path) -> Iterator[str]:
    """Find problems in one file."""
    text = path.read_text(encoding="utf-8")
    try:
        compile(text, path.name, "exec")
    except SyntaxError as wrong:
        yield f"{path.name}:{wrong.lineno}: {wrong.msg}"
    for number, line in enumerate(text.split("\n"), 1):
        if line != line.rstrip():
            yield f"{path.name}:{number}: blanks at the end of the line"


if __name__ == "__main__":
    found = [one for path in sorted(Path().glob("*.py")) for one in findings(path)]
    sys.exit("\n".join(found) if found else 0)
