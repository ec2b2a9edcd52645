"""The program as a process: exit codes, clean output, whatever the surroundings."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

BYLAW = [sys.executable, "-m", "bylaw"]
PROMISED = {"check", "decide", "rules", "expr", "match", "completion"}


def run(*words, command=BYLAW, **more):
    more.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run([*command, *words], capture_output=True, timeout=300, check=False, **more)


def python(code, **more):
    return run("-c", code, command=[sys.executable], **more)


def in_environment(**changes):
    return {**os.environ, **changes}


def test_version():
    done = run("--version")

    assert (done.returncode, done.stdout, done.stderr) == (0, b"bylaw 0.1.0\n", b"")
    assert run("--version", "--help").stdout == b"bylaw 0.1.0\n"


def test_the_installed_script_is_the_same_program():
    script = Path(sys.executable).parent / "bylaw"

    assert run("--version", command=[script]).stdout == b"bylaw 0.1.0\n"


LOADED = """
import sys
sys.argv = ["bylaw", {word!r}]
from bylaw.cli import main
main()
print(*sys.modules, file=sys.stderr)
"""


def test_version_imports_nothing_heavy():
    loaded = set(python(LOADED.format(word="--version")).stderr.decode().split())

    assert loaded & {"click", "re", "msgspec", "json", "typing", "dataclasses", "enum"} == set()
    assert {name for name in loaded if name.startswith("bylaw")} == {
        "bylaw", "bylaw.version", "bylaw.cli", "bylaw.cli.errors",
    }  # fmt: skip


def test_help_lists_every_verb_and_imports_none():
    done = python(LOADED.format(word="--help"))
    listed = done.stdout.decode().split("Commands:\n")[1].split("\n\n")[0].splitlines()
    loaded = set(done.stderr.decode().split())

    assert {line.split()[0] for line in listed} >= PROMISED
    assert loaded & {f"bylaw.cli.{verb}" for verb in PROMISED} == set()
    assert loaded & {"msgspec", "yaml", "jinja2"} == set()


@pytest.mark.parametrize("verb", sorted(PROMISED))
def test_every_verb_teaches_with_its_help(verb):
    short, long = run(verb, "-h"), run(verb, "--help")

    assert (short.returncode, short.stdout) == (0, long.stdout)
    assert f"  bylaw {verb} " in long.stdout.decode() or f"(bylaw {verb} " in long.stdout.decode()


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["exrp"], "error: unknown command `exrp`; did you mean `expr`?"),
        (["qqqqqq"], "error: unknown command `qqqqqq`; known here: "),
        (["--nope"], "error: No such option '--nope'."),
        (["completion"], "bash,\n"),
        (["completion", "csh"], "'csh' is not one of 'bash', 'zsh', 'fish'."),
        (["\x1b[2J"], r"error: unknown command `\u{1b}[2J`"),
        ([], "Commands:"),
    ],
)
def test_wrong_usage_is_told_on_standard_error(words, hint):
    done = run(*words)

    assert (done.returncode, done.stdout) == (2, b"")
    assert hint in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()


def test_arguments_that_are_not_utf8_do_no_harm():
    for environment in ({}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}):
        done = run(b"\xff\xfe", env=in_environment(**environment))

        assert done.returncode == 2
        assert rb"unknown command `\u{dcff}\u{dcfe}`" in done.stderr


@pytest.fixture
def with_verb(tmp_path):
    """Run the program with one more line in the table of verbs, for a module of the test."""

    def call(body, *words, code=None, **more):
        head = "import click, os, sys, time\nfrom bylaw.cli.terminal import emit, write\n"
        wrapper = (
            "@click.command()\n@click.argument('words', nargs=-1)\ndef trial_command(words):\n"
        )
        (tmp_path / "trial.py").write_text(head + wrapper + f"    {body}\n")
        start = (
            "import sys\nfrom bylaw.cli import main\nfrom bylaw.cli.frame import COMMANDS, CommandEntry\n"
            f"sys.path.insert(0, {str(tmp_path)!r})\nsys.argv[0] = 'bylaw'\n"
            "COMMANDS['trial'] = CommandEntry('trial', 'A verb of a test.')\nsys.exit(main())\n"
        )
        (tmp_path / "start.py").write_text(start)
        command = [sys.executable, tmp_path / "start.py", "trial"]
        if more.pop("popen", False):
            return subprocess.Popen([*command, *words], **more)
        return run(*words, command=command, **more)

    return call


def test_what_a_verb_returns_is_the_exit_code(with_verb):
    assert with_verb("emit({'value': True})").stdout == b'{"value":true}\n'
    assert with_verb("return 1").returncode == 1
    assert with_verb("click.get_current_context().exit(1)").returncode == 1


def test_a_bug_of_ours_exits_3_with_a_report_to_paste(with_verb):
    done = with_verb("{}['x']", "--", "--word", env=in_environment(SECRET="hunter2"))
    report = done.stderr.decode()

    assert (done.returncode, done.stdout) == (3, b"")
    assert report.startswith("error: this is a bug in bylaw: KeyError: 'x'\n")
    assert "bylaw     0.1.0\n" in report
    assert f"python    CPython {sys.version.split()[0]}\n" in report
    assert "arguments ['trial', '--', '--word']\n" in report
    assert "{}['x']" in report
    assert "hunter2" not in report


def test_a_verb_whose_module_is_broken_is_a_bug_too():
    code = (
        "import sys; from bylaw.cli import main; from bylaw.cli.frame import COMMANDS, CommandEntry\n"
        "COMMANDS['gone'] = CommandEntry('bylaw.cli.no_such_module', 'x'); sys.argv = ['bylaw', 'gone']\n"
        "sys.exit(main())"
    )

    assert python(code).returncode == 3


def test_endless_recursion_gives_a_short_report(with_verb):
    done = with_verb("f = lambda: f()\n    f()")

    assert done.returncode == 3
    assert len(done.stderr.splitlines()) < 250


def test_a_mistake_in_what_was_given_exits_1_with_the_diagnostic(with_verb):
    done = with_verb(
        "from bylaw.cli.terminal import read_source\n    read_source(words[0])", "nope"
    )

    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.decode() == (
        "error[unreadable-file]: cannot read `nope`: file not found\n  --> nope\n"
    )


def test_an_interrupt_exits_130_without_a_traceback(with_verb):
    process = with_verb(
        "write('ready\\n'); sys.stdout.flush(); time.sleep(60)",
        popen=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A shell's background job ignores it, and its children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=300)

    assert (process.returncode, errors) == (130, b"")


@pytest.mark.parametrize("body", ["write('x' * 10_000_000)", "write('short')"])
def test_a_reader_that_goes_away_is_no_news(with_verb, body):
    read, write = os.pipe()
    os.close(read)
    process = with_verb(body, popen=True, stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    _, errors = process.communicate(timeout=300)

    assert (process.returncode, errors) == (1, b"")


def test_errors_that_nobody_reads_leave_the_exit_code(with_verb):
    for body, code in (("{}['x']", 3), ("raise click.UsageError('x')", 2)):
        read, write = os.pipe()
        os.close(read)
        process = with_verb(body, popen=True, stderr=write)
        os.close(write)

        assert process.wait(timeout=300) == code


@pytest.mark.parametrize(
    ("words", "code"), [(["--version"], 1), (["--help"], 0), (["completion", "bash"], 1)]
)
def test_output_that_was_closed_or_is_full(words, code):
    closed = run("-c", '"$@" >&-', "sh", *BYLAW, *words, command=["bash"])
    full = run("-c", '"$@" >/dev/full', "sh", *BYLAW, *words, command=["bash"])

    assert (closed.returncode, closed.stderr) == (code, b"")
    assert (full.returncode, full.stderr) == (
        1,
        b"error: cannot write the output: No space left on device\n",
    )


@pytest.mark.parametrize(
    "environment",
    [
        {"LC_ALL": "C"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "latin-1:strict"},
        {"PYTHONIOENCODING": "utf-16"},
    ],
)
def test_output_is_utf8_whatever_the_locale(with_verb, environment):
    done = with_verb(
        "emit(list(words))", "é世", b"\xff", "\u202e", env=in_environment(**environment)
    )

    assert done.stdout == '["é世","\\udcff","\\u202e"]\n'.encode()
    assert json.loads(done.stdout) == ["é世", "\udcff", "\u202e"]


COMPLETE = """
source <(bylaw completion bash)
complete -p bylaw >/dev/null || exit 9
COMP_WORDS=(bylaw {words}); COMP_CWORD={at}
_bylaw_completion bylaw
echo "${{COMPREPLY[@]}}"
"""


@pytest.mark.parametrize(
    ("words", "at", "completed"),
    [
        ("comp", 1, "completion"),
        ("ma", 1, "match"),
        ("completion ''", 2, "bash zsh fish"),
        ("--ver", 1, "--version"),
    ],
)
def test_bash_completes_verbs_and_arguments(words, at, completed):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    script = COMPLETE.format(words=words, at=at)
    done = run("--norc", "-c", script, command=["bash"], env=in_environment(PATH=path))

    assert (done.stdout.decode().strip(), done.stderr) == (completed, b"")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_every_shell_is_about_bylaw(shell):
    done = run("completion", shell)

    assert done.returncode == 0
    assert f"_BYLAW_COMPLETE={shell}_complete" in done.stdout.decode()


@pytest.mark.parametrize("word", ["abc", "0", "-x1", "9" * 30])
def test_explain_says_what_it_wants(word):
    done = subprocess.run(
        [*BYLAW, "explain", "--", word], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "; use the number of a record, as `bylaw log` shows it" in done.stderr
