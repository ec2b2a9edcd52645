"""`bylaw check` as a process: formats, exit codes, hostile files."""

import json
import os
import pty
import subprocess
import sys

import pytest

CHECK = [sys.executable, "-m", "bylaw", "check"]


def check(folder, *words):
    return subprocess.run(
        [*CHECK, *words], cwd=folder, capture_output=True, timeout=300, check=False
    )


def put(folder, **texts):
    for name, text in texts.items():
        (folder / f"{name}.lines").write_text(text)


def test_nothing_found_is_fine(tmp_path):
    done = check(tmp_path)

    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"no rule files in ")
    answer = json.loads(check(tmp_path, "--format", "json").stdout)
    law = answer.pop("languages")["law"]
    assert answer == {"books": [], "diagnostics": []}
    assert law == "LAW: RULE_DSL (L-10-DSL), version 0.1, Active Draft"  # LD-110


def test_json_has_the_promised_shape(tmp_path):
    put(tmp_path, good="deny tool shell because no\n", bad="é denny\n")
    done = check(tmp_path, "good.lines", "bad.lines", "--format", "json")
    answer = json.loads(done.stdout)

    assert (done.returncode, done.stderr) == (1, b"")
    (book,) = answer["books"]
    assert book.items() >= {
        "path": ".", "dialect": "lines", "rules": 1, "files": 2, "trusted": True,
    }.items()  # fmt: skip
    (found,) = answer["diagnostics"]
    assert (
        found.items()
        >= {
            "code": "bad-line",
            "severity": "error",
            "message": "this is no rule",
            "file": "bad.lines",
            "line": 1,
            "column": 1,
            "end_line": 1,
            "end_column": 8,
            "help": "write `deny tool …`, `on KIND …`, `first` or `core`",
        }.items()
    )


def test_github_and_sarif(tmp_path):
    put(tmp_path, bad="denny\n")
    annotations = check(tmp_path, "bad.lines", "--format", "github")
    log = check(tmp_path, "bad.lines", "--format", "sarif")

    assert annotations.stdout.startswith(b"::error file=bad.lines,line=1,col=1,")
    assert json.loads(log.stdout)["runs"][0]["results"][0]["ruleId"] == "bad-line"
    assert (annotations.returncode, log.returncode) == (1, 1)


def test_paths_are_named_from_the_root_wherever_one_stands(tmp_path):
    (tmp_path / "bylaw.toml").write_text('[[book]]\npath = "sub/bad.lines"\n')
    (tmp_path / "sub").mkdir()
    put(tmp_path / "sub", bad="denny\n")

    for words in ((), ("bad.lines",)):
        answer = json.loads(check(tmp_path / "sub", *words, "--format", "json").stdout)
        assert [found["file"] for found in answer["diagnostics"]] == ["sub/bad.lines"]


@pytest.mark.parametrize("words", [["gone"], [""], ["a\x01b"], ["/dev/null"], [b"\xff"], ["/"]])
def test_what_is_no_rule_file_is_a_finding(words, tmp_path):
    done = check(tmp_path, *words)

    assert done.returncode == 1
    assert done.stdout.startswith(b"error[")
    assert done.stderr == b""


def test_wrong_usage(tmp_path):
    assert check(tmp_path, "--format", "xml").returncode == 2
    assert check(tmp_path, "--frob").returncode == 2


def test_a_working_directory_that_is_gone(tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    code = f"import os, sys; os.rmdir({str(gone)!r}); os.execv(sys.executable, {CHECK!r})"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=gone, capture_output=True, timeout=300, check=False
    )

    assert done.returncode == 1
    assert b"cannot read `.`: file not found" in done.stderr


def test_a_terminal_sees_colours_and_a_pipe_does_not(tmp_path):
    put(tmp_path, bad="denny\n")
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    main, side = pty.openpty()
    with subprocess.Popen(
        [*CHECK, "bad.lines"], cwd=tmp_path, stdout=side, stderr=side, env=environment
    ) as process:
        os.close(side)
        shown = b""
        while piece := _read(main):
            shown += piece
    os.close(main)

    assert process.returncode == 1
    assert b"\x1b[1;31merror[bad-line]" in shown
    assert b"\x1b" not in check(tmp_path, "bad.lines").stdout


def _read(terminal):
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux says so when the other side is closed
        return b""
