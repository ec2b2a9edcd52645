"""Which words of a command its program reads as a program in turn."""

from __future__ import annotations

import pytest

from bylaw.expr.command_line import complete_programs, program_words, split_words, unsafe_name

TEXT = "TEXT"


def texts(command: str) -> list[str]:
    words = split_words(command).words
    return [words[at] for at in sorted(program_words(words))]


@pytest.mark.parametrize(
    "command",
    [
        "sh -c TEXT",
        "/bin/sh -ec TEXT x",
        "bash -lc TEXT",
        "bash -xeuo pipefail -c TEXT",
        "bash -c -o errexit TEXT x",
        "bash -ce TEXT",
        "bash -c -- TEXT -x",
        "bash -c - TEXT",
        "bash -co errexit TEXT x",
        "bash -Oc extglob TEXT",
        "bash -oo errexit nounset -c TEXT",
        "bash --rcfile x -c TEXT",
        "rbash -c TEXT",
        "fish --command TEXT",
        "fish -d x -c TEXT",
        "env A=b timeout -k 5 10 sh -c TEXT x",
        "nice -n 5 sudo -u me dash -c TEXT",
        "xargs -n 1 sh -c TEXT",
        "find . -name x -exec sh -c TEXT",
        "python -c TEXT x",
        "python3.12 -Ic TEXT",
        "python -W error -c TEXT",
        "perl -pi -e TEXT x",
        "perl -I lib -lane TEXT",
        "ruby -rset -e TEXT",
        "node -e TEXT",
        "node --import tsx --eval TEXT",
        "php -r TEXT",
        "deno eval TEXT",
        "awk -F : TEXT x",
        "gawk TEXT x",
        "sed -i.bake TEXT x",
        "sed -n -e TEXT x",
        "su -c TEXT me",
        "su me -c TEXT",
        "su - me -s /bin/sh -c TEXT",
        "script -q x -c TEXT",
    ],
)
def test_the_word_that_is_read(command):
    assert texts(command) == [TEXT]


@pytest.mark.parametrize(
    ("command", "read"),
    [
        ("node --eval=TEXT", ["--eval=TEXT"]),
        ("perl -eTEXT x", ["-eTEXT"]),
        ("perl -e TEXT -e MORE x", [TEXT, "MORE"]),
        ("make lint FILES=x", ["FILES=x"]),
        ("ssh host ls x", ["host", "ls", "x"]),
    ],
)
def test_other_forms(command, read):
    assert texts(command) == read


@pytest.mark.parametrize(
    "command",
    [
        "ruff check x",
        "bash -n x",
        "bash x",
        "sh t.sh -c x",
        "sh -c",
        "sh -s -- -c x",
        "sh - -c x",
        "su me -- -c x",
        "python t.py -c x",
        "python -m pytest -c x",
        "gcc -c x",
        "grep sh -c x",
        "awk -f t.awk x",
        "sed -f t.sed x",
        "make x",
        "env A=b ruff x",
        "",
    ],
)
def test_what_is_no_program(command):
    assert not program_words(split_words(command).words if command else ())


def test_what_is_a_part_of_a_program_is_not_all_of_it():
    assert complete_programs(["sh", "-c", "x"]) == {2}
    assert not complete_programs(["ssh", "host", "x"])


@pytest.mark.parametrize("name", ["x;touch y;.py", "$(id)", "a b.py", "a'b", "naïve.py", "a\nb"])
def test_a_name_that_may_be_more_than_a_name(name):
    assert unsafe_name(["sh", "-c", f"head {name}"], [name]) == name
    assert not unsafe_name(["sh", "-c", 'head "$1"', "sh", name], [name])
    assert not unsafe_name(["head", name], [name])


def test_a_name_that_is_only_a_name():
    name = "src/a-b_c/d.py@1%2+3=4:5,6"
    assert not unsafe_name(["sh", "-c", f"head {name}"], [name])
