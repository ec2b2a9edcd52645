"""Input that is broken in every way ends in a diagnostic: soon, in little memory, no traceback."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
WATCH = HERE.parent / "watch.py"
SECONDS = 20  # of the process, also if others keep the machine busy
LONGEST_S = 600
MEBIBYTES = 512
MEGABYTE = 1_000_000
# The longest single argument that Linux takes, with its NUL: 32 pages.
LONGEST_ARGUMENT = 32 * 4096 - 1
PLACE = re.compile(rb" --> .+:\d+:\d+\n")


class Ended:
    def __init__(self, report, output, errors):
        self.code, self.mebibytes, self.seconds = report.values()
        self.output, self.errors = output, errors

    @property
    def has_place(self):
        return PLACE.search(self.errors) is not None


@pytest.fixture
def watched(tmp_path):
    """Run a command with what it prints in files, and hold what is promised of every run."""

    def run(*command, stdin=os.devnull):
        report, out, err = (tmp_path / name for name in ("report", "out", "err"))
        watch = [sys.executable, "-S", WATCH, str(LONGEST_S), report, *command]
        with open(stdin, "rb") as given, out.open("wb") as output, err.open("wb") as errors:  # noqa: PTH123 - as a shell does
            subprocess.run(watch, stdin=given, stdout=output, stderr=errors, check=True)
        ended = Ended(json.loads(report.read_text()), out.read_bytes(), err.read_bytes())

        assert b"Traceback" not in ended.errors
        assert b"bug in bylaw" not in ended.errors
        assert ended.seconds < SECONDS
        assert ended.mebibytes < MEBIBYTES
        return ended

    return run


@pytest.fixture
def bylaw(watched):
    return lambda *words, **more: watched(sys.executable, "-m", "bylaw", *words, **more)


def in_json(value):
    return json.dumps(value).encode()


DEEP = 100_000
BROKEN_FACTS = {
    "5 MB": b"[" + b"1," * (5 * MEGABYTE // 2 - 2) + b"1]",
    "5 MB of lists": b'{"vars": {"a": [' + b"[]," * (5 * MEGABYTE // 3 - 9) + b"1]",
    "50 MB": b" " * (50 * MEGABYTE),
    "one long line": b'{"last": {"user": "' + b"x" * (5 * MEGABYTE),
    "many lines": b"\n" * (5 * MEGABYTE),
    "deep lists": b"[" * DEEP,
    "deep and closed": b'{"vars": {"a": ' + b"[" * DEEP + b"]" * DEEP + b"}}",
    "deep maps": b'{"vars":' * DEEP,
    "just too deep": b'{"vars": {"a": ' + b"[" * 400 + b"]" * 400 + b"}}",
    "NUL": b'{"turn_index": 3}\0',
    "NUL in a text": b'{"last_role": "a\0"}',
    "UTF-16": '{"turn_index": 3}'.encode("utf-16"),
    "Latin-1": '{"last_role": "é"}'.encode("latin-1"),
    "surrogate": b'{"last_role": "\xed\xa0\x80"}',
    "CRLF": b'{"turn_index": 3,\r\n"turn_indexx": 4}\r\n',
    "byte order mark": b"\xef\xbb\xbf{turn_index}",
    "byte order mark alone": b"\xef\xbb\xbf",
    "empty": b"",
    "huge counter": b'{"turn_index": ' + b"9" * 400 + b"}",
    "huge number for a share": b'{"context": {"turn": {"token_usage": ' + b"9" * 400 + b"}}}",
    "number that Python refuses": b'{"vars": {"a": ' + b"9" * 5_000 + b"}}",
    "5 MB of digits": b'{"turn_index": ' + b"9" * (5 * MEGABYTE) + b"}",
    "not a number": b'{"turn_index": NaN}',
    "duplicate key": b'{"turn_index": 3, "turn_index": 4}',
    "duplicate key inside": b'{"vars": {"a": {"b": 1, "b": 2}}}',
}
# There is no character to point at.
WITHOUT_PLACE = {"empty"}
FACTS_OF_TOML = {"huge number for a share", "just too deep", "5 MB"}


@pytest.mark.parametrize("name", BROKEN_FACTS)
def test_facts_of_an_expression(bylaw, tmp_path, name):
    (tmp_path / "facts").write_bytes(BROKEN_FACTS[name])
    dialect = "toml" if name in FACTS_OF_TOML else "chatmd"
    words = ("expr", "1 == 1", "--dialect", dialect)
    given = bylaw(*words, "--facts", "-", stdin=tmp_path / "facts")

    assert given.code == 1
    assert given.has_place is (name not in WITHOUT_PLACE)
    assert given.errors.startswith(b"error[")
    assert len(given.errors) < 10_000


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("missing.json", b"file not found"),
        (".", b"it is a folder"),
        ("/proc/self/mem", b"cannot read `/proc/self/mem`: "),
        ("/dev/zero", b"is larger than"),
        (b"\xff\xfe", b"file not found"),
        ("x" * 5_000, b"cannot read `xxxxx"),
    ],
)
def test_files_that_cannot_be_read(bylaw, path, why):
    ended = bylaw("expr", "1 == 1", "--facts", path)

    assert ended.code == 1
    assert ended.errors.startswith((b"error[unreadable-file]", b"error[too-large]"))
    assert why in ended.errors


def test_a_pipe_that_never_ends(bylaw, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["/bin/sh", "-c", 'exec cat /dev/zero > "$0" 2>/dev/null', pipe]):
        ended = bylaw("expr", "1 == 1", "--facts", pipe)

    assert ended.code == 1
    assert ended.errors.startswith(b"error[too-large]")


def longest(text):
    return text * (LONGEST_ARGUMENT // len(text))


BROKEN_EXPRESSIONS = {
    "long": longest("a"),
    "long sum": longest("1+") + "1",
    "deep brackets": longest("("),
    "deep lists": longest("["),
    "deep and closed": "(" * 4_000 + "1" + ")" * 4_000,
    "deep lists closed": "[" * 4_000 + "]" * 4_000,
    "deep not": longest("not "),
    "many minus": "1" + "-" * 8_000 + "1",
    "many powers": "2" + "**2" * 2_000,
    "many attributes": "a" + ".a" * 4_000,
    "many indices": "[1]" + "[0]" * 2_000,
    "many choices": "1 if 1 else " * 600 + "1",
    "deep maps": "{1:" * 2_000,
    "deep calls": "str(" * 1_900,
    "huge integer": "9" * 8_000,
    "huge float": "1e99999",
    "not UTF-8": b"'\xff\xfe' == \xff",
    "surrogate": b"\xed\xa0\x80",
    "byte order mark": "\ufeff1 == 1 1",
    "CRLF": "1 ==\r\n\r\n",
    "escape codes": "\x1b[2J",
    "right to left": "\u202ea == b",
    "quotes": longest("'\"") + "'",
    "back-slashes": "'" + "\\" * 8_001 + "'",
    "f-strings": 'f\'{f"{1}"' * 900,
    "blank": " " * 100_000,
    "empty": "",
}


@pytest.mark.parametrize("dialect", ["chatmd", "toml"])
@pytest.mark.parametrize("name", BROKEN_EXPRESSIONS)
def test_expressions(bylaw, name, dialect):
    ended = bylaw("expr", "--dialect", dialect, "--", BROKEN_EXPRESSIONS[name])
    answer = json.loads(ended.output)

    assert ended.code == 1
    assert answer["error"]["code"].startswith("load-")
    assert ended.errors.startswith(b"error[")
    assert ended.has_place is (name != "empty")
    assert len(ended.errors) < 10_000
    assert b"\x1b" not in ended.errors


BROKEN_PATTERNS = {
    "open braces": longest("{"),
    "long": longest("a"),
    "stars": longest("*"),
    "folders": longest("**/"),
    "alternatives": longest("{a,b}"),
    "one alternative of many": "{" + longest("a,")[2:] + "}",
    "slashes": longest("/"),
    "dots": longest("../"),
    "not UTF-8 and open": b"\xff{",
    "CRLF": "a\r\nb",
    "escape codes": "\x1b[2J",
    "empty": "",
}


@pytest.mark.parametrize("name", BROKEN_PATTERNS)
def test_patterns(bylaw, name):
    ended = bylaw("match", "--", BROKEN_PATTERNS[name], "src/a.py")

    assert ended.code == 1
    assert json.loads(ended.output)["error"]["code"] == "pattern-error"
    assert ended.has_place is (name != "empty")
    assert len(ended.errors) < 20_000


BROKEN_PATHS = {
    "one path of 5 MB": b"a" * (5 * MEGABYTE),
    "5 MB of slashes": b"/" * (5 * MEGABYTE),
    "5 MB of lines": (b"a" * 99 + b"\n") * (MEGABYTE // 20),
    "5 MB of dots": b"a/../" * MEGABYTE,
    "NUL": b"a\0b\n",
    "CRLF and byte order mark": b"\xef\xbb\xbfa\r\nb\r\n",
    "empty": b"",
}


@pytest.mark.parametrize("name", BROKEN_PATHS)
def test_paths_are_answered_however_they_look(bylaw, tmp_path, name):
    """A path that no file can have does not match; it is no mistake to ask for it."""
    (tmp_path / "paths").write_bytes(BROKEN_PATHS[name])
    ended = bylaw("match", "{a}*{*}*/{path}?b", "-", stdin=tmp_path / "paths")
    answers = [json.loads(line) for line in ended.output.splitlines()]

    assert (ended.code, ended.errors) == (0, b"")
    assert not any(answer["match"] for answer in answers)


@pytest.mark.parametrize(
    "data", [b"a\n" * (25 * MEGABYTE), "a\n".encode("utf-16"), b"a\n\xff\n"], ids=lambda d: d[:2]
)
def test_paths_that_are_not_read(bylaw, tmp_path, data):
    (tmp_path / "paths").write_bytes(data)
    ended = bylaw("match", "a", "-", stdin=tmp_path / "paths")

    assert (ended.code, ended.output) == (1, b"")
    assert ended.errors.startswith((b"error[not-utf8]", b"error[too-large]"))


BROKEN_FILES = {
    "5 MB": b"a " * (5 * MEGABYTE // 2),
    "5 MB of brackets": b"[" * (5 * MEGABYTE),
    "5 MB of braces": b"{{" * (5 * MEGABYTE // 2),
    "5 MB of lines": b"- a: {\n" * (5 * MEGABYTE // 7),
    "5 MB of headings": b"## a\n" * MEGABYTE,
    "5 MB of blanks": b"## a" + b" " * (5 * MEGABYTE - 9) + b"[",
    "50 MB": b"a" * (50 * MEGABYTE),
    "deep": b"{{ " + b"[" * DEEP,
    "just too deep": b"{{ " + b"[" * 9_000 + b"]" * 9_000 + b" }}",
    "open tags": b"{% if text %}" * 1_000 + b"\n```run",
    "NUL": b"a: {{ \0\n```run\n",
    "UTF-16": "a: 1".encode("utf-16"),
    "Latin-1": "a: {{ é".encode("latin-1"),
    "surrogate": b"\xed\xa0\x80",
    "byte order mark and CRLF": b"\xef\xbb\xbf{{ a: [\r\n```run\r\n",
    "huge integer": b"{{ " + b"9" * 10_000 + b" }}: " + b"9" * 10_000,
    "duplicate keys": b'{"kind": "prompt", "text": "{{ a }}", "text": 1, "text": 1}',
}
# What is not a test, a template or YAML may still be good prose, plain text, or a list.
ACCEPTED = {
    ("page", name)
    for name in BROKEN_FILES
    if name not in {"5 MB of headings", "5 MB of blanks", "50 MB", "open tags", "NUL", "UTF-16",
                    "Latin-1", "surrogate", "byte order mark and CRLF"}
}  # fmt: skip


@pytest.mark.parametrize("parser", ["yaml", "template", "events", "page"])
@pytest.mark.parametrize("name", BROKEN_FILES)
def test_parsers_without_a_verb(watched, tmp_path, name, parser):
    (tmp_path / "input").write_bytes(BROKEN_FILES[name])
    ended = watched(sys.executable, HERE / "load_file.py", parser, tmp_path / "input")

    assert ended.code == int((parser, name) not in ACCEPTED)
    assert ended.errors.startswith(b"error[" if ended.code else b"")
    assert ended.has_place or parser == "events" or name == "50 MB" or not ended.code
    assert len(ended.errors) < 100_000
