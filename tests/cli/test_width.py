"""Screens are 80 columns wide, or as wide as the terminal: help, tables, the demo."""

import re
import subprocess
import sys

import click
import pytest

from bylaw.cli.frame import bylaw
from bylaw.hosts.demo.story import create_repository
from bylaw.model.display import width
from own_session import Terminal

BYLAW = [sys.executable, "-m", "bylaw"]
COLUMNS = 80


def verbs(command, words=()):
    """Every verb with its help, below a group as well."""
    context = click.Context(
        command,
        info_name=" ".join(("bylaw", *words)),
        terminal_width=COLUMNS,
        **command.context_settings,  # a command keeps the first help option that it makes
    )
    yield words, command.get_help(context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            yield from verbs(command.get_command(context, name), (*words, name))


HELP = dict(verbs(bylaw))


def too_wide(text, columns=COLUMNS):
    return [line for line in text.splitlines() if width(line) > columns]


@pytest.mark.parametrize("words", HELP, ids=" ".join)
def test_help_fits(words):
    assert not too_wide(HELP[words])


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """The repository of the demo."""
    folder = tmp_path_factory.mktemp("demo")
    create_repository(str(folder))
    return folder


@pytest.mark.parametrize("words", [["check"], ["doctor"], ["doctor", "--canary", "cursor"]])
def test_tables_fit_in_a_pipe(root, words):
    done = subprocess.run(
        [*BYLAW, *words], cwd=root, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.stdout
    assert not too_wide(done.stdout)


def test_nothing_of_a_table_is_cut(root):
    done = subprocess.run([*BYLAW, "check"], cwd=root, capture_output=True, text=True, check=True)
    for path in (".bylaw/rules/token-budget.toml", ".deepwork/policies/*.md"):
        assert path in done.stdout
    assert "…" not in done.stdout


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_the_demo_is_as_wide_as_the_terminal(tmp_path, columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")
    with Terminal([*BYLAW, "demo", "here"], folder=tmp_path) as terminal:
        said = terminal.rest().replace("\r", "")
    assert terminal.process.returncode == 0
    body, _, closing = said.partition("Try next")
    assert not too_wide(body, columns)
    remarks = [line for line in closing.splitlines() if line.startswith("# ")]
    assert not too_wide("\n".join(one for one in remarks if "rm -r" not in one), columns)
    assert re.search(r"^# rm -r \S+/here$", closing, re.MULTILINE)
