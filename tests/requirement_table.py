"""The requirements and the pages of spec/ → which case checks what; run by `make requirements`.

Prints a line a language; with `--full` the table requirement, case, file. The exit code is 1 if
an id of a language that has landed is named by no case.
"""

import re
import sys
from pathlib import Path

from bylaw.languages import BUILT_IN
from bylaw.model import diagnostic_text
from bylaw.model.errors import LoadError
from bylaw.model.source import SourceFile
from bylaw.report.suites.reader import read_page

# A language that is built in has landed: each of its ids needs a case from then on.
PREFIXES = {"chatmd": "CM", "toml": "TR", "context": "AC", "law": "LD", "policies": "DW"}
LANDED = tuple(PREFIXES[name] for name in BUILT_IN)

HERE = Path(__file__).parent
ROOT = HERE.parent

_DEFINITION = re.compile(r"^- \*\*([A-Z]{2}-A?[0-9]+)\*\*", re.MULTILINE)
_PREFIX_LENGTH = len("CM-")


def known_ids():
    """Every id that the document of requirements defines, in its order."""
    return _DEFINITION.findall((HERE / "data" / "requirements.md").read_text(encoding="utf-8"))


def read_spec():
    """All pages of spec/; LoadError if one is malformed."""
    for path in sorted((ROOT / "spec").rglob("*.md")):
        name = path.relative_to(ROOT).as_posix()
        yield read_page(SourceFile.decode(name, path.read_bytes()))


def table(ids, pages):
    """For each id the cases that name it, as pairs of title and file."""
    rows = {id_: [] for id_ in ids}
    for page in pages:
        for case in page.cases:
            for id_ in case.requirements:
                rows.setdefault(id_, []).append((case.title, page.source.path))
    return rows


def missing(rows, landed):
    """The ids of the languages that have landed which no case names."""
    return [id_ for id_, cases in rows.items() if prefix(id_) in landed and not cases]


def prefix(id_):
    """The language of an id."""
    return id_[: _PREFIX_LENGTH - 1]


def summary(rows, landed):
    """A line a language: how many of its ids are named, by how many cases."""
    for language in dict.fromkeys(map(prefix, rows)):
        own = {id_: cases for id_, cases in rows.items() if prefix(id_) == language}
        named = sum(map(bool, own.values()))
        cases = len({case for found in own.values() for case in found})
        status = "landed" if language in landed else "not landed"
        yield f"{language}  {named:3} of {len(own):3} ids in {cases:3} cases  {status}"


def full(rows):
    """The whole table, a line for each id and case."""
    width = max((len(title) for cases in rows.values() for title, _ in cases), default=0)
    for id_, cases in rows.items():
        for title, path in cases or [("-", "-")]:
            yield f"{id_:7}  {title:{width}}  {path}"


def main(arguments):
    """Print, and tell by the exit code whether something is missing."""
    try:
        rows = table(known_ids(), read_spec())
    except LoadError as refused:
        sys.stdout.write(diagnostic_text.render(refused.diagnostics))
        return 1
    lines = [*(full(rows) if "--full" in arguments else ()), *summary(rows, LANDED)]
    lines += [f"{id_} is named by no case" for id_ in missing(rows, LANDED)]
    sys.stdout.write("\n".join(lines) + "\n")
    return 1 if missing(rows, LANDED) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
