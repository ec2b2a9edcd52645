"""`bylaw context` as a program: what it prints, what it writes, a terminal, a pipe."""

import json
import os
import pty
import select
import signal
import stat
import subprocess
import sys
import time

import pytest

import bylaw
from bylaw.report.context import read_context_files
from bylaw.store.files import MAX_INPUT_BYTES
from contract_texts import DOC, REVIEW

BYLAW = [sys.executable, "-m", "bylaw", "context"]
NOTHING = {"responses": [], "workflows": [], "protocols": []}
GUARDED = {"responses": ["m.r1"], "workflows": [], "protocols": ["m.p1"]}
UNKNOWN = """\
ERROR: ai-context-language
code: UNKNOWN_ID
message: "unknown command 'nope'"
details:
  block_type: COMMAND
  id: nope"""
WARNING = """\
WARNING: ai-context-language
Not a command. Did you mean: /setmode(test) ? To run it, type it exactly as shown."""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "doc.md").write_text(DOC)
    (tmp_path / "review.md").write_text(REVIEW)
    return tmp_path


def run(folder, *words, said=None):
    return subprocess.run(
        [*BYLAW, *words],
        cwd=folder,
        input=said,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


def lines(result):
    return [json.loads(line) for line in result.stdout.splitlines()]


# ---- call


def test_calls_are_one_session_and_a_line_each(folder):
    result = run(folder, "call", "doc.md", "--", "/setmode(test)", "/guard()", "so what?")
    assert result.returncode == 0
    assert result.stderr == ""
    assert lines(result) == [
        {
            "message": "/setmode(test)",
            "result": "ok",
            "output": "",
            "state": {"m.mode": "test"},
            "enabled": NOTHING,
        },
        {
            "message": "/guard()",
            "result": "ok",
            "output": "",
            "state": {"m.mode": "test"},
            "enabled": GUARDED,
        },
        {
            "message": "so what?",
            "result": "prose",
            "output": "",
            "state": {"m.mode": "test"},
            "enabled": GUARDED,
        },
    ]


def test_an_error_is_the_payload_and_changes_nothing(folder):
    result = run(folder, "call", "doc.md", "--", "/guard()", "/nope()\n/setmode(test)", "x")
    assert result.returncode == 1
    _, wrong, after = lines(result)
    assert wrong["result"] == "error"
    assert wrong["output"] == f"{UNKNOWN}\n  responses: [m.r1]"
    assert (wrong["state"], wrong["enabled"]) == ({"m.mode": "design"}, GUARDED)
    assert (after["result"], after["enabled"]) == ("prose", GUARDED)


def test_a_warning_is_two_lines_and_no_failure(folder):
    result = run(folder, "call", "doc.md", "--", "setmode(test)")
    assert result.returncode == 0
    (answer,) = lines(result)
    assert (answer["result"], answer["output"]) == ("warning", WARNING)
    assert answer["state"] == {"m.mode": "design"}


def test_a_warning_is_told_also_beside_a_call(folder):
    (answer,) = lines(run(folder, "call", "doc.md", "--", "setmode(test)\n/setmode(research)"))
    assert (answer["result"], answer["output"]) == ("warning", WARNING)
    assert answer["state"] == {"m.mode": "research"}


def test_several_files_are_one_document_with_all_defaults(folder):
    (answer,) = lines(run(folder, "call", "review.md", "doc.md", "--", "hello"))
    assert answer["state"] == {
        "m.mode": "design",
        "review.depth": "quick",
        "review.note": "",
        "review.counts": {"a": [1, 2]},
    }


@pytest.mark.parametrize(
    ("data", "code", "line"),
    [
        (b"[[MODULE]]\nname: m\ndescription: d\n", "PARSE_ERROR", 1),
        (DOC.encode() + b"\n[[ENUM]]\nname: E\nvalues: [a]\n[[/ENUM]]\n", "SCHEMA_VIOLATION", 43),
        (b"prose\n\xff\n", "PARSE_ERROR", 2),
        (b"x" * (MAX_INPUT_BYTES + 1), "PARSE_ERROR", 1),
    ],
)
def test_a_document_that_does_not_load_answers_everything_with_its_first_error(
    folder, data, code, line
):
    (folder / "bad.md").write_bytes(data)
    result = run(folder, "call", "bad.md", "doc.md", "--", "/guard()", "hello")
    assert result.returncode == 1
    first, second = lines(result)
    assert first["output"].startswith(f"ERROR: ai-context-language\ncode: {code}\nmessage: ")
    assert f"\n  line: {line}" in first["output"]
    assert (first["result"], first["state"], first["enabled"]) == ("error", {}, NOTHING)
    assert second == first | {"message": "hello"}


def test_messages_may_look_like_options_and_hold_any_bytes(folder):
    words = [*BYLAW, "call", "--format", "json", "doc.md", "--", "--help", "-", "--", "\udcff\x1b"]
    result = subprocess.run(words, cwd=folder, capture_output=True, timeout=300, check=True)
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert [one["message"] for one in answers] == ["--help", "-", "--", "\udcff\x1b"]
    assert {one["result"] for one in answers} == {"prose"}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["call", "doc.md"], "write the messages after --"),
        (["call", "doc.md", "--"], "write the messages after --"),
        (["call", "--", "/guard()"], "Missing argument"),
        (["check"], "Missing argument"),
        (["chek", "doc.md"], "did you mean `check`?"),
        (["fmt", "doc.md", "--check", "--write"], "cannot combine --check and --write"),
        (["state", "doc.md", "--journal", "j.db"], "--journal needs --session"),
        ([], "Usage: bylaw context COMMAND"),
    ],
)
def test_wrong_usage(folder, words, told):
    result = run(folder, *words)
    assert result.returncode == 2
    assert result.stdout == ""
    assert told in result.stderr


@pytest.mark.parametrize("verb", ["check", "state", "render", "fmt", "repl"])
def test_a_file_that_is_not_there(folder, verb):
    result = run(folder, verb, "doc.md", "none.md")
    assert result.returncode == 1
    assert result.stdout == ""
    assert "cannot read `none.md`: file not found" in result.stderr


def test_a_call_on_a_file_that_is_not_there(folder):
    result = run(folder, "call", "none.md", "--", "x")
    assert (result.returncode, result.stdout) == (1, "")
    assert "cannot read `none.md`" in result.stderr


@pytest.mark.parametrize("verb", ["check", "call", "state", "render", "fmt", "repl"])
def test_every_verb_explains_itself(folder, verb):
    result = run(folder, verb, "--help")
    assert result.returncode == 0
    assert f"Usage: bylaw context {verb}" in result.stdout
    assert "Examples:" in result.stdout


# ---- check


def test_check_of_a_document_that_loads(folder):
    result = run(folder, "check", "doc.md", "review.md", "--format", "json")
    assert result.returncode == 0
    (report,) = lines(result)
    assert report["diagnostics"] == []
    (book,) = report["books"]
    assert (book["dialect"], book["files"], book["trusted"]) == ("context", 2, True)


def test_check_tells_the_first_phase_only_and_in_order(folder):
    (folder / "bad.md").write_text(
        DOC.replace("default: design", "default: nope")
        .replace("protocols: [p1]", "protocols: [p2]")
        .replace("responses: [r1]", "responses: [r2]")
    )
    result = run(folder, "check", "bad.md", "--format", "json")
    assert result.returncode == 1
    (report,) = lines(result)
    found = [(one["code"], one["line"], one["severity"]) for one in report["diagnostics"]]
    assert found == [("UNKNOWN_ID", 38, "error"), ("UNKNOWN_ID", 39, "error")]
    shown = run(folder, "check", "bad.md")
    assert shown.returncode == 1
    assert shown.stdout.index("bad.md:38:17") < shown.stdout.index("bad.md:39:17")
    assert "error[UNKNOWN_ID]" in shown.stdout


def test_check_of_what_is_no_text(folder):
    (folder / "bad.md").write_bytes(b"\xff")
    (report,) = lines(run(folder, "check", "bad.md", "--format", "json"))
    assert [one["code"] for one in report["diagnostics"]] == ["PARSE_ERROR"]


# ---- state and render


def test_the_state_at_the_start(folder):
    result = run(folder, "state", "doc.md", "review.md")
    assert result.returncode == 0
    assert result.stdout == (
        "variable       type                    value\n"
        'm.mode         m.WorkMode              "design"\n'
        'review.depth   review.Depth            "quick"\n'
        'review.note    String                  ""\n'
        'review.counts  Map<String, List<Int>>  {"a": [1, 2]}\n'
        "\n"
        "nothing is enabled\n"
    )


def test_the_state_after_messages(folder):
    said = ["--after", "/setmode(test)", "--after", "/guard()"]
    assert lines(run(folder, "state", "doc.md", *said, "--format", "json")) == [
        {
            "variables": [{"name": "m.mode", "type": "m.WorkMode", "value": "test"}],
            "enabled": GUARDED,
        }
    ]


def test_a_message_that_fails_is_told_and_nothing_else(folder):
    for verb in ("state", "render"):
        result = run(folder, verb, "doc.md", "--after", "setmode(test)", "--after", "/nope()")
        assert (result.returncode, result.stdout) == (1, "")
        assert result.stderr == f"{WARNING}\n{UNKNOWN}\n"


def test_the_state_of_a_recorded_session(folder, monkeypatch):
    monkeypatch.chdir(folder)
    book = read_context_files(["doc.md"]).book.book
    with bylaw.Engine([book], journal="j.db") as engine:
        for text in ("/guard()", "/setmode(research)", "/guard()"):
            engine.submit({"kind": "prompt", "session": "chat:a.chatmd", "text": text})
    there = ["doc.md", "--journal", "j.db", "--session"]
    (found,) = lines(run(folder, "state", *there, "chat:a.chatmd", "--format", "json"))
    assert found["variables"][0]["value"] == "research"
    assert found["enabled"] == GUARDED
    told = run(folder, "render", *there, "chat:a.chatmd", "--after", "/setmode(test)")
    assert '- m.mode = "test"\n' in told.stdout
    assert "p1" not in told.stdout
    wrong = run(folder, "state", *there, "chat:b.chatmd")
    assert wrong.returncode == 1
    assert "unknown session `chat:b.chatmd` in the journal: did you mean" in wrong.stderr


def test_render_is_the_same_each_time(folder):
    first, second = (run(folder, "render", "doc.md", "--after", "/guard()") for _ in range(2))
    assert first.returncode == 0
    assert first.stdout == second.stdout
    assert 'no_web: never call the tool "web.run"' in first.stdout


@pytest.mark.parametrize("verb", ["state", "render", "fmt", "repl"])
def test_a_document_that_does_not_load_is_refused(folder, verb):
    (folder / "bad.md").write_text("[[MODULE]]\n")
    result = run(folder, verb, "bad.md")
    assert (result.returncode, result.stdout) == (1, "")
    assert "error[PARSE_ERROR]" in result.stderr


# ---- fmt


def test_fmt_prints(folder):
    result = run(folder, "fmt", "doc.md", "review.md")
    assert result.returncode == 0
    assert "description: d\n" in result.stdout
    assert "# Reviews\n" in result.stdout
    assert (folder / "doc.md").read_text() == DOC


def test_fmt_checks_and_writes(folder):
    before = run(folder, "fmt", "doc.md", "review.md", "--check")
    assert (before.returncode, before.stdout) == (
        1,
        "would change: doc.md\nwould change: review.md\n",
    )
    assert (folder / "doc.md").read_text() == DOC
    (folder / "doc.md").chmod(0o640)
    (folder / "link.md").symlink_to("doc.md")
    printed = run(folder, "fmt", "doc.md").stdout
    written = run(folder, "fmt", "link.md", "--write")
    assert (written.returncode, written.stdout) == (0, "changed: link.md\n")
    assert (folder / "doc.md").read_text() == printed
    assert (folder / "link.md").is_symlink()
    assert stat.S_IMODE((folder / "doc.md").stat().st_mode) == 0o640
    assert sorted(one.name for one in folder.iterdir()) == ["doc.md", "link.md", "review.md"]
    after = run(folder, "fmt", "doc.md", "--check")
    assert (after.returncode, after.stdout) == (0, "")


def test_fmt_as_json(folder):
    (found,) = lines(run(folder, "fmt", "doc.md", "--format", "json"))
    (file,) = found["files"]
    assert (file["path"], file["changed"]) == ("doc.md", True)
    assert file["text"] == run(folder, "fmt", "doc.md").stdout
    (found,) = lines(run(folder, "fmt", "doc.md", "--check", "--format", "json"))
    assert found == {"files": [{"path": "doc.md", "changed": True}]}


def test_fmt_writes_nothing_if_the_document_does_not_load(folder):
    (folder / "bad.md").write_text(DOC.replace("name: m\n", "name: n\n").replace("[p1]", "[p2]"))
    result = run(folder, "fmt", "bad.md", "doc.md", "--write")
    assert (result.returncode, result.stdout) == (1, "")
    assert (folder / "doc.md").read_text() == DOC


def test_fmt_cannot_write_a_pipe(folder):
    os.mkfifo(folder / "pipe.md")
    with subprocess.Popen(
        [*BYLAW, "fmt", "pipe.md", "--write"], cwd=folder, stderr=subprocess.PIPE, text=True
    ) as process:
        (folder / "pipe.md").write_text(DOC)
        _, told = process.communicate(timeout=300)
    assert process.returncode == 1
    assert told == "error: cannot write `pipe.md`: it is not a regular file\n"


# ---- repl


def test_the_repl_in_a_pipe(folder):
    said = "/setmode(test)\n\n:state\nsetmode(test)\n/nope()\n:enabled\n/guard()\n:enabled\n:nope\n:quit\n/x()\n"
    result = run(folder, "repl", "doc.md", said=said)
    assert result.returncode == 1
    assert result.stdout == (
        "variable  type        value\n"
        'm.mode    m.WorkMode  "test"\n'
        f"{WARNING}\n{UNKNOWN}\n"
        "nothing is enabled\n"
        "responses: m.r1\nprotocols: m.p1\n"
    )
    assert result.stderr.startswith("`:nope` is not a command; ")


def test_the_repl_in_a_pipe_without_an_error(folder):
    result = run(folder, "repl", "doc.md", said="/guard()\n:render")
    assert result.returncode == 0
    assert result.stdout == run(folder, "render", "doc.md", "--after", "/guard()").stdout


def test_the_repl_answers_at_once(folder):
    process = subprocess.Popen(
        [*BYLAW, "repl", "doc.md"],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
    )
    process.stdin.write(b"/guard()\n:enabled\n")
    assert process.stdout.readline() == b"responses: m.r1\n"
    process.stdin.close()
    assert process.stdout.read() == b"protocols: m.p1\n"
    process.stdout.close()
    assert process.wait(300) == 0


class Terminal:
    """A person at a terminal."""

    def __init__(self, folder, *words):
        self.main, side = pty.openpty()
        environment = os.environ | {"TERM": "xterm", "INPUTRC": "/dev/null"}
        self.process = subprocess.Popen(
            [*BYLAW, *words],
            cwd=folder,
            stdin=side,
            stdout=side,
            stderr=side,
            env=environment,
            start_new_session=True,
        )
        os.close(side)
        self.shown = b""

    def until(self, wanted):
        """What is shown up to this, from where the last one ended."""
        end = time.monotonic() + 300
        while wanted not in self.shown:
            assert time.monotonic() < end, self.shown
            if select.select([self.main], [], [], 0.1)[0]:
                self.shown += os.read(self.main, 4096)
        before, _, self.shown = self.shown.partition(wanted)
        return before.decode().replace("\r\n", "\n")

    def type(self, keys):
        os.write(self.main, keys)

    def interrupt(self):
        """Until it is noticed: a signal right before readline waits is seen with the next one."""
        while not select.select([self.main], [], [], 0.5)[0]:
            os.kill(self.process.pid, signal.SIGINT)

    def __enter__(self):
        self.until(b"> ")
        return self

    def __exit__(self, *_):
        os.close(self.main)
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(300)


def test_the_repl_on_a_terminal_completes_and_remembers(folder):
    with Terminal(folder, "repl", "doc.md", "review.md") as terminal:
        terminal.type(b"/set\t")
        terminal.until(b"/setmode(")
        terminal.type(b"te\t")
        terminal.until(b"test")
        terminal.type(b")\n")
        terminal.until(b"> ")
        terminal.type(b":st\t\n")
        assert 'm.mode         m.WorkMode              "test"\n' in terminal.until(b"> ")
        terminal.type(b"\x1b[A\x1b[A")  # the line before the last one
        terminal.until(b"/setmode(test)")
        terminal.type(b'\x15/begin(de\tf\t, lo\ttr\t, no\t"x")\n:enabled\n')
        shown = terminal.until(b"workflows: ")
        assert '/begin(depth=full, loud=true, note="x")' in shown
        terminal.type(b":quit\n")
        assert terminal.process.wait(300) == 0


def test_the_repl_on_a_terminal_shows_what_a_user_sees_and_ends_with_the_input(folder):
    with Terminal(folder, "repl", "doc.md") as terminal:
        terminal.type(b"/nope()\n")
        assert UNKNOWN in terminal.until(b"> ")
        terminal.type(b"/gu")
        terminal.until(b"/gu")
        terminal.interrupt()
        terminal.until(b"> ")
        terminal.type(b":enabled\n")
        assert "nothing is enabled" in terminal.until(b"> ")
        terminal.type(b"\x04")
        assert terminal.process.wait(300) == 0
