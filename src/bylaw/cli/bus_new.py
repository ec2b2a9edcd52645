"""`bylaw bus new`: write a valid message into the bus."""

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
# Field of a message → option of this command.
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
    """Check that a message can contain the text: it must be UTF-8."""
    for one in value if isinstance(value, tuple) else (value or "",):
        try:
            one.encode()
        except UnicodeEncodeError:
            raise click.BadParameter("not UTF-8 text", ctx, param) from None
    return value


def _filled(ctx: click.Context, param: click.Parameter, value: str) -> str:
    if not value.strip():
        raise click.BadParameter("must not be empty", ctx, param)
    return str(_text(ctx, param, value))


def _agent(ctx: click.Context, param: click.Parameter, value: str | None) -> str:
    by = user_name() if value is None else value
    if not word_of(by):
        words = "part of the id: it needs a letter from a to z, or a digit"
        raise click.BadParameter(words, ctx, param)
    return str(_text(ctx, param, by))


def _slug(ctx: click.Context, param: click.Parameter, value: str) -> str:
    if value and not _SLUG.fullmatch(value):
        words = f"invalid slug `{value}`: use 1 to {MAX_WORD} of a-z, A-Z, 0-9, _ and -"
        raise click.BadParameter(f"{words}, not starting with _ or -", ctx, param)
    return value


@click.command(context_settings=HELP_OPTIONS)
@root_option
@click.option("--title", metavar="TEXT", required=True, callback=_filled, help="Subject.")
@click.option(
    "--category",
    type=click.Choice([one.value for one in Category]),
    required=True,
    help="A needs no approval, B and C need one, D is an emergency.",
)
@click.option(
    "--command-type",
    type=click.Choice([one.value for one in CommandType]),
    help="Type of the request. Default: exec with --run, else task.",
)
@click.option(
    "--path",
    "paths",
    metavar="PATH",
    multiple=True,
    callback=_text,
    help="File that the message is about, relative to the root; may be repeated.",
)
@click.option(
    "--run",
    metavar="COMMAND",
    multiple=True,
    callback=_text,
    help="Command to run; may be repeated. It needs a rule that allows it, and an approval.",
)
@click.option("--notes", metavar="TEXT", default="", callback=_text, help="Additional notes.")
@click.option(
    "--origin",
    metavar="TEXT",
    default="",
    callback=_text,
    help="Source: an event, a path, or the id that an approval request is about.",
)
@click.option(
    "--by",
    metavar="NAME",
    callback=_agent,
    help="Creator. Default: the name of your account. It grants nothing.",
)
@click.option(
    "--approval-by",
    type=click.Choice([one.value for one in Authority]),
    multiple=True,
    help="Authority whose approval it requests; may be repeated.",
)
@click.option("--requires-approval", is_flag=True, help="Require an approval even in category A.")
@click.option(
    "--slug",
    metavar="WORD",
    default="",
    callback=_slug,
    help="Last part of the id. Default: made from the title.",
)
@click.option(
    "--phase",
    type=click.IntRange(PHASES[0], PHASES[-1]),
    help="Phase. Default: the active phase of SHARED_CONTEXT.md.",
)
@click.option("--dry-run", is_flag=True, help="Print the message without writing it.")
@text_or_json
def new(*, root: str, dry_run: bool, form: str, **wanted: Any) -> int:
    """Write a valid message into the bus.

    The id consists of the time (UTC), the creator and the shortened title. Before it is
    written, the message is validated as strictly as by `bylaw bus run`, so it is never refused
    for its form. Prints the path of the new file or, with --dry-run, its content.

    \b
    Examples:
      bylaw bus new --title "Fix the lint errors" --category A --path src/app.py
      bylaw bus new --title Deploy --category C --run "npm run deploy" \\
        --approval-by human
      bylaw bus new --title Tests --category B --run pytest --by cursor --dry-run
    """
    wish = Wish(**wanted)
    if wish.command_type == CommandType.APPROVAL_REQUEST and not wish.origin:
        raise click.UsageError("an approval request needs the id of a message: add `--origin ID`")
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
    """Note that commands in category A messages never run (LD-A18)."""
    if wish.run and wish.category == Category.A and sys.stderr is not None:
        click.echo("note: rules never run the commands of a category A message", err=True)
