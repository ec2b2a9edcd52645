"""`bylaw bus new`: options → a valid message in the bus."""

from __future__ import annotations

import re
import sys
from typing import Any

import click

from bylaw.cli.frame import HELP_OPTIONS
from bylaw.cli.output import emit, text_or_json, write
from bylaw.cli.root_option import chosen_root, root_option
from bylaw.dialects.law.written import PHASES, Category, CommandType
from bylaw.hosts.bus.messages.evidence import message_bytes
from bylaw.hosts.bus.new_message import MAX_WORD, NewMessages, Wish, word_of
from bylaw.model.vocabulary import Authority
from bylaw.runtime.user_name import user_name

_SLUG = re.compile(rf"[A-Za-z0-9][A-Za-z0-9_-]{{0,{MAX_WORD - 1}}}")
# What a message calls it, and what it is called here.
_OPTIONS = {
    "title": "--title",
    "target_paths": "--path",
    "run": "--run",
    "notes": "--notes",
    "origin_ref": "--origin",
    "created_by": "--by",
    "phase": "--phase",
}


def _text(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    """A text that a message can hold."""
    for one in value if isinstance(value, tuple) else (value or "",):
        try:
            one.encode()
        except UnicodeEncodeError:
            raise click.BadParameter("it is not UTF-8 text", ctx, param) from None
    return value


def _filled(ctx: click.Context, param: click.Parameter, value: str) -> str:
    if not value.strip():
        raise click.BadParameter("it is empty", ctx, param)
    return str(_text(ctx, param, value))


def _agent(ctx: click.Context, param: click.Parameter, value: str | None) -> str:
    by = user_name() if value is None else value
    if not word_of(by):
        words = "it is part of the id, so it needs a letter from a to z, or a digit"
        raise click.BadParameter(words, ctx, param)
    return str(_text(ctx, param, by))


def _slug(ctx: click.Context, param: click.Parameter, value: str) -> str:
    if value and not _SLUG.fullmatch(value):
        words = f"`{value}` is no slug: 1 to {MAX_WORD} of a-z, A-Z, 0-9, _ and -"
        raise click.BadParameter(f"{words}, not beginning with _ or -", ctx, param)
    return value


@click.command(context_settings=HELP_OPTIONS)
@root_option
@click.option("--title", metavar="TEXT", required=True, callback=_filled, help="What it is about.")
@click.option(
    "--category",
    type=click.Choice([one.value for one in Category]),
    required=True,
    help="How far it reaches: A is free, B and C need approval, D is an emergency.",
)
@click.option(
    "--command-type",
    type=click.Choice([one.value for one in CommandType]),
    help="What is asked for; without it, exec if there is a --run, else task.",
)
@click.option(
    "--path",
    "paths",
    metavar="PATH",
    multiple=True,
    callback=_text,
    help="A file that it is about, from the root; may be repeated.",
)
@click.option(
    "--run",
    metavar="COMMAND",
    multiple=True,
    callback=_text,
    help="A command; may be repeated. A rule must allow it, and somebody approve it.",
)
@click.option("--notes", metavar="TEXT", default="", callback=_text, help="Anything else to say.")
@click.option(
    "--origin",
    metavar="TEXT",
    default="",
    callback=_text,
    help="Where it comes from: an event, a path, or the id that a request asks about.",
)
@click.option(
    "--by",
    metavar="NAME",
    callback=_agent,
    help="Who makes it; without it, the name of your account. It proves nothing.",
)
@click.option(
    "--approval-by",
    type=click.Choice([one.value for one in Authority]),
    multiple=True,
    help="Whose approval it asks for; may be repeated.",
)
@click.option("--requires-approval", is_flag=True, help="Want an approval also in category A.")
@click.option(
    "--slug",
    metavar="WORD",
    default="",
    callback=_slug,
    help="The end of its id; without it, made from the title.",
)
@click.option(
    "--phase",
    type=click.IntRange(PHASES[0], PHASES[-1]),
    help="Without it, the active phase of SHARED_CONTEXT.md.",
)
@click.option("--dry-run", is_flag=True, help="Print the message, and write nothing.")
@text_or_json
def new(*, root: str, dry_run: bool, form: str, **wanted: Any) -> int:
    """Write a valid message into the bus.

    Its id is the time (UTC), who makes it, and the title in short. It is checked as strictly as
    `bylaw bus run` does it before anything is written, so it is never refused for its form.
    Prints the path of the new file, or with --dry-run what would be in it.

    \b
    Examples:
      bylaw bus new --title "Fix the lint errors" --category A --path src/app.py
      bylaw bus new --title Deploy --category C --run "npm run deploy" \\
        --approval-by human
      bylaw bus new --title Tests --category B --run pytest --by cursor --dry-run
    """
    wish = Wish(**wanted)
    if wish.command_type == CommandType.APPROVAL_REQUEST and not wish.origin:
        raise click.UsageError("a request names the id that it asks about: add `--origin ID`")
    messages = NewMessages(chosen_root(root))
    draft = messages.draft(wish)
    if draft.problems:
        raise click.UsageError("; ".join(map(_in_our_words, draft.problems)))
    if dry_run:
        path = messages.place(draft)
    else:
        draft, path = messages.put(draft)
    _note_idle_commands(wish)
    if form == "json":
        told = {"msg_id": draft.msg_id, "path": path, "written": not dry_run}
        emit(told | {"message": draft.message})
    else:
        write(message_bytes(draft.message).decode() if dry_run else f"{path}\n")
    return 0


def _in_our_words(problem: str) -> str:
    for key, option in _OPTIONS.items():
        if problem.startswith(f"`{key}`"):
            return f"`{option}`{problem[len(key) + 2 :]}"
    return problem


def _note_idle_commands(wish: Wish) -> None:
    """LD-A18: what everybody may say, nobody runs."""
    if wish.run and wish.category == Category.A and sys.stderr is not None:
        click.echo("note: no rule runs the commands of a message of category A", err=True)
