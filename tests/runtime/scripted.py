"""A language whose files name scripts, and which notes what it found: `use scripts/a.lua`.

`checked` are the files that it had to look at itself, because nothing was known of them.
"""

from bylaw.languages.base import LoadResult, SiblingFileError, WhenBroken
from bylaw.model.codes import Code, Example
from bylaw.model.diagnostic import error, warning
from bylaw.model.procedure import Flow, Group, GuardFault, Procedure, SortKey, StepFault
from bylaw.model.source import Span
from bylaw.model.vocabulary import Kind, Verdict

name = "scripted"
spec = "one script a line, 1.0"
suffixes = (".scripted",)
common_ending = False
one_book_per_file = False
when_broken = WhenBroken(group="scripted", kinds=(Kind.TOOL_BEFORE,), verdict=Verdict.DENY)

BAD = Code("bad-script", "a script that is refused", "", "", Example("scripted", ""))
PROCEDURE = Procedure(
    order=(SortKey.FILE,),
    flow=Flow.ALL,
    guard_error=GuardFault.DENY,
    failed_step=StepFault.RECORD,
)

checked: list[str] = []
scripts: list[str] = []


def detect(source):
    return True


def rule_text(source):
    return source.text


def in_own_words(finding):
    return finding


def refuses_set(source):
    return False


def starts(book, files):
    return []


def load(files):
    found = [finding for file in files for finding in _findings(file)]
    notes = {
        file.digest: b"\n".join([b"scripts", *_paths(file)]) for file in files if not file.known
    }
    groups = (Group("scripted", 100, PROCEDURE, ()),)
    return LoadResult(groups, tuple(found), notes)


def _paths(file):
    return [line[4:].encode() for line in file.source.text.split("\n") if line.startswith("use ")]


def _findings(file):
    if not file.known:
        checked.append(file.path)
    for path in file.known.split(b"\n")[1:] if file.known else _paths(file):
        try:
            scripts.append(file.beside.read(path.decode()))
        except SiblingFileError as wrong:
            yield error(BAD, str(wrong), file.source, Span(0, 3))
    if "warn" in file.source.text:
        yield warning(BAD, "a warning", file.source, Span(0, 1))
