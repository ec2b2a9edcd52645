"""Shared by `bylaw approve` and `bylaw reject`: show a message, ask, write the token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

import click

from bylaw.cli.asking import agreed, refuse_others
from bylaw.cli.decision_screen import as_data, question, render
from bylaw.cli.output import emit, screen_columns, write
from bylaw.cli.root_option import chosen_root, root_option
from bylaw.hosts.bus.approvals.matters import Matters
from bylaw.hosts.bus.in_force import InForce
from bylaw.model.vocabulary import Authority

if TYPE_CHECKING:
    from collections.abc import Callable

    Command = Callable[..., Any]


class Chosen(TypedDict):
    """Arguments and options of both commands."""

    msg_id: str
    by: str
    note: str
    yes: bool
    form: str
    root: str


def parameters(function: Command) -> Command:
    """Add the arguments and options of both commands."""
    for parameter in (
        click.option(
            "--format",
            "form",
            type=click.Choice(["text", "json"]),
            default="text",
            show_default=True,
            help="json: machine-readable; never prompts. Without --yes, only show.",
        ),
        click.option("--yes", is_flag=True, help="Skip the confirmation."),
        click.option("--note", default="", metavar="TEXT", help="Reason, in one line."),
        click.option(
            "--by",
            type=click.Choice([one.value for one in Authority], case_sensitive=False),
            default=Authority.HUMAN.value,
            show_default=True,
            help="Authority for which you decide.",
        ),
        root_option,
        click.argument("msg_id", metavar="ID"),
    ):
        function = parameter(function)
    return function


def decided(chosen: Chosen, *, granted: bool) -> int:
    """Show the message, ask, and write the token. Return the exit code."""
    authority, form, yes = Authority(chosen["by"]), chosen["form"], chosen["yes"]
    only_shown = form == "json" and not yes
    if not only_shown:
        refuse_others("an approval" if granted else "a rejection")
    root = chosen_root(chosen["root"])
    matters = Matters(root, InForce(root, trusted_once=False))
    matter = matters.matter(chosen["msg_id"])
    outlook = matters.outlook(matter, authority)
    earlier = matters.earlier(matter, authority)
    if form == "text":
        write(render(matter, outlook, earlier, screen_columns()))
    if granted:
        matters.refuse_pointless(matter, authority)
    token = None
    if not only_shown and (yes or agreed(question(matter, authority, granted=granted))):
        token = matters.decide(matter, authority, granted=granted, note=chosen["note"])
    done = "approved" if granted else "rejected"
    if form == "json":
        told = {"authority": authority.value, "decision": done, "token": token}
        emit(as_data(matter, outlook) | told)
    else:
        write(f"not {done}\n" if token is None else f"{done} as {authority.value}: {token}\n")
    return int(token is None)
