"""Every `bylaw …` that a page shows is a verb that there is, with options that it has."""

import re
import shlex
import sys
from pathlib import Path

import click
import pytest

from bylaw.cli.frame import bylaw

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))

from site_pages import FENCE  # noqa: E402 - docs/ is no package

PAGES = [
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").rglob("README.md")),
    *sorted(ROOT.glob("*.md")),
]
_CALL = re.compile(r"(?<!from )\bbylaw +(?=[a-z-])(.*)")
_INLINE = re.compile(r"`([^`]+)`")
_END = re.compile(r"[|&;<>()]+|#.*")


def calls(text):
    """What stands after each `bylaw`: of a block line by line, of prose what is in backticks."""
    for fence in FENCE.finditer(text):
        for line in fence["text"].replace("\\\n", " ").split("\n"):
            code = [one for one in _INLINE.findall(line) if _CALL.search(one)]
            yield from (found[1] for one in code or [line] if (found := _CALL.search(one)))
    for code in _INLINE.findall(FENCE.sub("", text)):
        if found := re.match(r"bylaw +(?=[a-z-])(.*)", code, re.DOTALL):
            yield found[1]


def words(call):
    """The words of a command up to where its shell goes on with something else."""
    reader = shlex.shlex(call, posix=True, punctuation_chars=True)
    reader.whitespace_split, reader.commenters = True, "#"
    found = []
    try:
        for word in reader:
            if _END.fullmatch(word):
                break
            found.append(word)
    except ValueError:  # a quote that ends in another line
        return found
    return found


def wrong(call):
    """The first word that is no verb or option, or nothing."""
    command, rest = bylaw, words(call)
    context = click.Context(bylaw)
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        name = rest.pop(0)
        if name.isupper() or name == "…":  # stands for any
            return None
        command = command.get_command(context, name)
        if command is None:
            return name
    options = {
        one for param in command.get_params(context) for one in (*param.opts, *param.secondary_opts)
    }
    for word in rest:
        name = word.partition("=")[0]
        if word == "--":
            return None
        if re.match(r"--?[a-z]", word) and name not in options:
            return word
    return None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_commands_are_there(page):
    found = calls(page.read_text(encoding="utf-8"))

    assert {f"bylaw {call}": name for call in found if (name := wrong(call))} == {}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("```\nexec bylaw policies rum >&2\n```", "rum"),
        ("```run\n$ bylaw chek\n[exit 0]\n```", "chek"),
        ("```\n        entry: bylaw policies run --trusted\n```", "--trusted"),
        ("so `bylaw lgo` shows", "lgo"),
        ("```sh\necho '{}' |\n  .venv/bin/bylaw hock claude PreToolUse\n```", "hock"),
        ("```\nbylaw decide \\\n  --rule x\n```", "--rule"),
        ("`bylaw log --journal j.db`\n```\nbylaw check --host codex # says --it\nfrom bylaw import x\n```", None),
        ("```\nbylaw expr --dialect chatmd 'a >= \"--no\" and b' | bylaw match --help\n```", None),
    ],
)  # fmt: skip
def test_a_wrong_one_is_found(text, name):
    assert next((found for call in calls(text) if (found := wrong(call))), None) == name
