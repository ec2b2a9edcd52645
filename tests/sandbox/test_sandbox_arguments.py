"""Arguments and programs: no shell, no guess, nothing that was not looked at."""

import os
import sys
from pathlib import Path

import pytest

from bylaw.runtime.sandbox.command import COMMAND_PATH
from bylaw.runtime.sandbox.request import MAX_ARGUMENT, MAX_ARGUMENTS, Refusal
from bylaw.runtime.sandbox.result import CommandEnd

ECHO = "import json, sys; print(json.dumps(sys.argv[1:]))"


class TestNoShell:
    """LD-097, LD-101, DW-093"""

    @pytest.mark.parametrize(
        "word",
        [
            "; touch harm",
            "$(touch harm)",
            "`touch harm`",
            "&& touch harm",
            "| touch harm",
            "> harm",
            "*",
            "~",
            "$HOME",
            "{a,b}",
            "a\ntouch harm",
            "--flag=a b",
            "-c",
            "'\"\\",
            "",
            "é\u202e",
        ],
    )
    def test_an_argument_arrives_as_it_is(self, commands, word):
        (commands.root / "file").touch()

        assert commands.told(ECHO, word, "next") == [word, "next"]
        assert commands.files() == ["file"]

    def test_a_program_is_no_command_line(self, commands):
        for name in ("touch harm", "touch;harm", "PATH=. touch", "$SHELL"):
            assert commands.run(name).refusal is Refusal.NOT_FOUND
        assert commands.files() == []


class TestWhichProgram:
    """LD-095, LD-096, LD-102, LD-103"""

    def test_a_name_is_looked_for_in_fixed_folders(self, commands):
        result = commands.run("true")

        assert result.ok
        assert result.program.rpartition("/")[0] in COMMAND_PATH.split(":")

    def test_our_own_path_does_not_count(self, commands, monkeypatch):
        commands.program("own-program", "#!/bin/sh\ntouch harm\n")
        commands.program("true", "#!/bin/sh\ntouch harm\n")
        monkeypatch.setenv("PATH", f"{commands.root}:.:{os.environ['PATH']}")

        assert commands.run("own-program", env=("PATH",)).refusal is Refusal.NOT_FOUND
        assert commands.run("true", env=("PATH",)).ok
        assert not (commands.root / "harm").exists()

    @pytest.mark.parametrize("name", ["./true", "../root/true", "sub/../true", "bin/true"])
    def test_a_path_from_somewhere_is_refused(self, commands, name):
        commands.program("true", "#!/bin/sh\ntouch harm\n")

        assert commands.run(name).refusal is Refusal.NOT_ALLOWED
        assert not (commands.root / "harm").exists()

    @pytest.mark.parametrize("name", [".", "..", "no-such-program", "/", "/no/such/program"])
    def test_what_is_not_there(self, commands, name):
        assert commands.run(name).refusal is Refusal.NOT_FOUND

    @pytest.mark.parametrize("argv", [(), ("",), ("", "x")])
    def test_nothing_at_all(self, commands, argv):
        assert commands.run(*argv).refusal is Refusal.EMPTY

    def test_a_folder(self, commands):
        assert commands.run(str(commands.root)).refusal is Refusal.NOT_FOUND

    def test_a_file_that_is_not_executable(self, commands):
        path = commands.program("plain", "#!/bin/sh\ntouch harm\n", 0o644)

        assert commands.run(path).refusal is Refusal.NOT_EXECUTABLE
        assert not (commands.root / "harm").exists()

    def test_a_script_without_a_first_line_is_not_given_to_a_shell(self, commands):
        path = commands.program("script", "touch harm\n")

        assert commands.run(path).refusal is Refusal.NOT_EXECUTABLE
        assert not (commands.root / "harm").exists()

    def test_a_script_whose_interpreter_is_not_there(self, commands):
        path = commands.program("script", "#!/no/such/interpreter\n")

        assert commands.run(path).refusal is Refusal.VANISHED

    def test_a_script_with_a_first_line(self, commands):
        path = commands.program("script", "#!/bin/sh\necho $0 $1\n")

        result = commands.run(path, "a;b")

        assert result.stdout.text == f"{path} a;b\n"

    def test_a_null_byte(self, commands):
        assert commands.run("true", "a\0b").refusal is Refusal.NUL
        assert commands.run("true\0x").refusal is Refusal.NUL

    def test_what_is_no_text(self, commands):
        assert commands.run("true", "\ud800").refusal is Refusal.NOT_TEXT

    def test_a_name_of_a_file_that_is_not_utf8(self, commands):
        result = commands.python("import os, sys; print(os.fsencode(sys.argv[1]))", "a\udcff")

        assert result.stdout.head == b"b'a\\xff'\n"
        assert result.as_json()["argv"][-1] == "a\\xff"

    @pytest.mark.parametrize(
        "argv",
        [("true", "x" * (MAX_ARGUMENT + 1)), ("true", *["x" * 1000] * (MAX_ARGUMENTS // 1000))],
    )
    def test_too_much(self, commands, argv):
        assert commands.run(*argv).refusal is Refusal.TOO_LONG

    def test_as_much_as_is_allowed(self, commands):
        many = ["x" * 50] * 16_000

        assert commands.told("import sys; print(len(sys.argv))", *many) == 16_001
        assert commands.told("import sys; print(len(sys.argv[1]))", "x" * MAX_ARGUMENT)


class TestAllowed:
    def test_only_what_is_named(self, commands):
        assert commands.run("true", allow=frozenset({"true"})).ok
        for allow in (frozenset(), frozenset({"tru", "truex", "True", "*", "/true"})):
            assert commands.run("true", allow=allow).refusal is Refusal.NOT_ALLOWED

    def test_a_path_is_another_name(self, commands):
        program = commands.run("true").program

        assert commands.run(program, allow=frozenset({"true"})).refusal is Refusal.NOT_ALLOWED
        assert commands.run(program, allow=frozenset({program})).ok
        assert commands.run("true", allow=frozenset({program})).ok

    def test_what_is_not_allowed_is_not_looked_for(self, commands):
        refused = commands.run("no-such-program", allow=frozenset({"true"}))

        assert refused.refusal is Refusal.NOT_ALLOWED
        assert refused.ending is CommandEnd.REFUSED
        assert refused.why == "`no-such-program` is not one of the allowed programs"

    def test_a_program_that_vanishes_before_it_starts(self, commands, monkeypatch):
        path = commands.program("short-lived", "#!/bin/sh\ntouch harm\n")
        from bylaw.runtime.sandbox import client as running  # noqa: PLC0415 - to come in between

        checked = running.supervisor_request

        def removed(*given, **more):
            Path(path).unlink()
            return checked(*given, **more)

        monkeypatch.setattr(running, "supervisor_request", removed)

        assert commands.run(path).refusal is Refusal.VANISHED
        assert not (commands.root / "harm").exists()


def test_the_interpreter_itself_is_a_program_like_others(commands):
    assert commands.run(sys.executable, "-c", "pass").ok
