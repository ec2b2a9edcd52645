"""`bylaw approve` and `bylaw reject`: show a bus message, ask a person, write a token.

Texts of a message cannot imitate other output: control characters are escaped, texts are in quotes,
and a long text continues in its own column, never at the start of a line.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import click

from bylaw.cli.frame import HELP_OPTIONS
from bylaw.cli.terminal import (
    confirm,
    emit,
    require_terminal,
    resolve_root,
    root_option,
    screen_columns,
    write,
)
from bylaw.hosts.bus.active_rules import ActiveRules
from bylaw.hosts.bus.approval_subject import ApprovalSubjects
from bylaw.model.display import clip_text, visible, visible_in_json, width
from bylaw.model.vocabulary import Authority

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bylaw.hosts.bus.approval_subject import ApprovalPreview, ApprovalSubject, PreviewCommand
    from bylaw.hosts.bus.statements import Statement
    from bylaw.model.values import JSON

    CommandFunction = Callable[..., Any]


MAX_NOTES = 2_000  # characters shown of texts that Bylaw never runs
_MIN_ROOM = 20
_MAX_LABEL = 20
_GAP = "  "
_FIRST_KEYS = ("title", "category", "created_by", "target_paths", "run")
_NOTES_KEYS = ("notes",)
_OTHER_VERSION = " for another version of this message"
_AFTER_OTHERS = ", after the others also approve"
_NOT_FOUND = "(message not found; only its digest is known)"


def render_decision(
    matter: ApprovalSubject, outlook: ApprovalPreview, earlier: list[str], columns: int
) -> str:
    """Render everything that a person must know to decide. Commands are never shortened."""
    rows = [*_rows(matter, outlook), *(("replaces", path) for path in earlier)]
    label = max(width(name) for name, _ in rows)
    room = max(columns - label - len(_GAP), _MIN_ROOM)
    return "".join(_lines(name, text, label, room) for name, text in rows) + "\n"


def confirmation_prompt(matter: ApprovalSubject, authority: Authority, *, granted: bool) -> str:
    """Return the confirmation prompt."""
    word = "Approve" if granted else "Reject"
    return f"{word} {matter.msg_id} as {authority.value}? [y/N] "


def decision_as_data(matter: ApprovalSubject, outlook: ApprovalPreview) -> dict[str, object]:
    """Return the same as plain values for JSON."""
    return {
        "msg_id": matter.msg_id,
        "digest": matter.digest,
        "file": matter.where or None,
        "state": matter.state or None,
        "why": matter.why or None,
        "message": matter.message,
        "request": matter.request,
        "said": [_statement_as_data(one, matter.digest) for one in matter.statements],
        "would_run": [
            {"rule": one.rule, "argv": list(one.argv), "cwd": one.cwd, "at_once": at_once}
            for commands, at_once in ((outlook.commands, True), (outlook.later, False))
            for one in commands
        ],
        "would_not": list(outlook.why),
    }


def _rows(matter: ApprovalSubject, outlook: ApprovalPreview) -> Iterator[tuple[str, str]]:
    yield "message", matter.msg_id
    if matter.message is None:
        yield "", _NOT_FOUND
    else:
        yield "file", visible(matter.where)
        yield from _message_rows(matter.message)
    if matter.request is not None and matter.request is not matter.message:
        yield "request", _quote_notes(matter.request.get("notes"))
    yield from _command_rows(outlook)
    if matter.state:
        yield "state", _state(matter)
    for one in matter.statements:
        category = f" for category {one.category}" if one.category else ""
        other = _OTHER_VERSION if one.is_for_another(matter.digest) else ""
        yield (
            "statement",
            f"{one.authority} {one.state.value}{category}{other} ({visible(one.where)})",
        )
    yield "digest", matter.digest


def _state(matter: ApprovalSubject) -> str:
    """Return state and reason. Leave out the repeated state and the hint to call `approve`."""
    told = matter.why.removeprefix(f"{matter.state}: ")
    why = told.removesuffix(f"; approve it with `bylaw approve {matter.msg_id}`")
    # Control characters in it are escaped already; `visible` would escape them again.
    return f"{matter.state}: {visible_in_json(why)}" if why else matter.state


def _command_rows(outlook: ApprovalPreview) -> Iterator[tuple[str, str]]:
    """What an approval would start. Commands can come from rules as well as from messages."""
    at_once = [_command(one) for one in outlook.commands]
    later = [_command(one) + _AFTER_OTHERS for one in outlook.later]
    for number, line in enumerate([*at_once, *later] or ["nothing"]):
        yield "" if number else "would run", line
    for why in outlook.why:
        yield "but" if at_once or later else "because", visible_in_json(why)


def _command(one: PreviewCommand) -> str:
    return f"{_quote(list(one.argv))} in {_quote(one.cwd)} by {visible(one.rule)}"


def _message_rows(message: dict[str, JSON]) -> Iterator[tuple[str, str]]:
    for key in _FIRST_KEYS:
        if key in message:
            yield from _value_rows(key, message[key])
    for key, value in message.items():
        if key in _NOTES_KEYS:
            yield key, _quote_notes(value)
        elif key not in {*_FIRST_KEYS, "msg_id"}:
            yield from _value_rows(key, value)


def _value_rows(key: str, value: JSON) -> Iterator[tuple[str, str]]:
    """Yield one row for each value of a list, else one row."""
    label = clip_text(visible(key), _MAX_LABEL)
    if not isinstance(value, list):
        yield label, "(nothing)" if value is None else _quote(value)
    elif not value:
        yield label, "(nothing)"
    for number, one in enumerate(value if isinstance(value, list) else ()):
        yield "" if number else label, _quote(one)


def _quote_notes(value: JSON) -> str:
    if not isinstance(value, str):
        return _quote(value)
    more = len(value) - MAX_NOTES
    return _quote(value[:MAX_NOTES]) + (f" and {more:,} more characters" if more > 0 else "")


def _quote(value: JSON) -> str:
    return visible_in_json(json.dumps(value, ensure_ascii=False))


def _lines(name: str, text: str, label: int, room: int) -> str:
    """One row. A long text continues in the lines below, under an empty label."""
    first, *others = _pieces(text, room)
    head = name + " " * (label - width(name)) + _GAP
    below = " " * (label + len(_GAP))
    return f"{head}{first}\n" + "".join(f"{below}{piece}\n" for piece in others)


def _pieces(text: str, room: int) -> list[str]:
    """Split a text into pieces that fit, after a blank where possible."""
    pieces, start = [], 0
    while (end := _end_of_piece(text, start, room)) < len(text):
        end = text.rfind(" ", start, end) + 1 or end
        pieces.append(text[start:end])
        start = end
    return [*pieces, text[start:]]


def _end_of_piece(text: str, start: int, room: int) -> int:
    """Return the end of the piece that starts at `start` and fits into `room` columns."""
    for end in range(start, len(text)):
        room -= width(text[end])
        if room < 0:
            return end
    return len(text)


def _statement_as_data(said: Statement, digest: str) -> dict[str, object]:
    return {
        "authority": said.authority,
        "category": said.category or None,
        "state": said.state.value,
        "where": said.where,
        "other_text": said.is_for_another(digest),
    }


class ApprovalOptions(TypedDict):
    """Arguments and options of both commands."""

    msg_id: str
    by: str
    note: str
    yes: bool
    form: str
    root: str


def approval_parameters(function: CommandFunction) -> CommandFunction:
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


def decide_approval(chosen: ApprovalOptions, *, granted: bool) -> int:
    """Show the message, ask, and write the token. Return the exit code."""
    authority, form, yes = Authority(chosen["by"]), chosen["form"], chosen["yes"]
    only_shown = form == "json" and not yes
    if not only_shown:
        require_terminal("an approval" if granted else "a rejection")
    root = resolve_root(chosen["root"])
    matters = ApprovalSubjects(root, ActiveRules(root, trusted_once=False))
    matter = matters.find(chosen["msg_id"])
    outlook = matters.preview(matter, authority)
    earlier = matters.earlier(matter, authority)
    if form == "text":
        write(render_decision(matter, outlook, earlier, screen_columns()))
    if granted:
        matters.require_effective(matter, authority)
    token = None
    if not only_shown and (yes or confirm(confirmation_prompt(matter, authority, granted=granted))):
        token = matters.decide(matter, authority, granted=granted, note=chosen["note"])
    done = "approved" if granted else "rejected"
    if form == "json":
        told = {"authority": authority.value, "decision": done, "token": token}
        emit(decision_as_data(matter, outlook) | told)
    else:
        write(f"not {done}\n" if token is None else f"{done} as {authority.value}: {token}\n")
    return int(token is None)


@click.command(context_settings=HELP_OPTIONS)
@approval_parameters
def approve_command(**chosen: Unpack[ApprovalOptions]) -> int:
    """Approve a message that waits in the bus.

    ID is the id of the message, or of the approval request about it. Bylaw shows the message,
    the commands that it would run and the rule that holds it. After you confirm, it writes a
    token to runtime/approvals, and a running `bylaw bus run` continues with the message. The
    token is valid for exactly this message: if the message changes, it needs another token.

    Needs a terminal, even with --yes, and refuses calls by a coding agent. Exit code 0 if the
    message is approved, else 1.

    \b
    Examples:
      bylaw approve 20240116_120000_cursor_fix-lint
      bylaw approve 20240116_120000_cursor_fix-lint --note "only until Friday"
    """
    return decide_approval(chosen, granted=True)


@click.command(context_settings=HELP_OPTIONS)
@approval_parameters
def reject_command(**chosen: Unpack[ApprovalOptions]) -> int:
    """Reject a message of the bus, or revoke an approval.

    ID is the id of the message, or of the approval request about it. Bylaw writes a token to
    runtime/approvals that overrides every approval of the same authority. A command that runs
    under such an approval is stopped.

    Needs a terminal, even with --yes, and refuses calls by a coding agent. Exit code 0 if the
    message is rejected, else 1.

    \b
    Examples:
      bylaw reject 20240116_120000_cursor_fix-lint
      bylaw reject 20240116_120000_cursor_fix-lint --note "not before the release"
    """
    return decide_approval(chosen, granted=False)
