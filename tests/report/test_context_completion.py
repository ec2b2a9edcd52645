"""What can be typed next: commands, names of arguments, words of enums."""

import pytest

from bylaw.languages.context.reader import read_document
from bylaw.model.source import SourceFile
from bylaw.report.context import completions
from contract_texts import DOC, REVIEW

FIRST, SECOND = (
    f"[[MODULE]]\nname: {name}\ndescription: d\n[[COMMAND]]\nname: go\n[[/COMMAND]]\n[[/MODULE]]\n"
    for name in "mn"
)


def complete(line, *texts):
    sources = [SourceFile(f"{n}.md", text) for n, text in enumerate(texts or (DOC, REVIEW))]
    return completions(read_document(sources), line)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", ["/begin(", "/guard()", "/m.guard()", "/m.setmode(", "/review.begin(", "/setmode("]),
        ("/", ["/begin(", "/guard()", "/m.guard()", "/m.setmode(", "/review.begin(", "/setmode("]),
        ("/se", ["/setmode("]),
        ("/m.", ["/m.guard()", "/m.setmode("]),
        ("/nope", []),
        ("hello", []),
        ("/setmode(", ["design", "research", "test"]),
        ("/setmode(de", ["design"]),
        ("/m.setmode( de", ["design"]),
        ("/setmode(test, ", []),
        ("/guard(", []),
        ("/nope(", []),
        ("/begin(", ["depth=", "loud=", "note="]),
        ("/begin(d", ["depth="]),
        ("/begin(depth=", ['"true"', '"two words"', "full", "quick"]),
        ("/begin(depth=f", ["full"]),
        ("/begin(depth=full, ", ["loud=", "note="]),
        ("/begin(depth=full, loud=t", ["true"]),
        ("/begin(loud=false,note=", []),
        ('/begin(note="a, b", ', ["depth=", "loud="]),
        ('/begin(note="a, ', []),
        ("/begin(note=[1, ", []),
        ("/begin(nope=", []),
    ],
)
def test_words(line, words):
    assert complete(line) == words


def test_a_name_of_two_modules_is_offered_with_them_only():
    assert complete("/g", FIRST, SECOND) == []
    assert complete("/", FIRST, SECOND) == ["/m.go()", "/n.go()"]
    assert complete("/", FIRST) == ["/go()", "/m.go()"]
