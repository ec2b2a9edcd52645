"""`bylaw demo`: show a scripted agent under rules of all five languages, event by event."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from tempfile import mkdtemp
from typing import TYPE_CHECKING

import click

from bylaw.cli.frame import HELP_OPTIONS
from bylaw.cli.output import in_color, screen_columns, write
from bylaw.hosts.demo.scenes import scenes
from bylaw.hosts.demo.scripted_agent import SESSION
from bylaw.hosts.demo.stage import set_up
from bylaw.model.errors import BylawError
from bylaw.model.verdict import Verdict
from bylaw.model.visible import visible
from bylaw.runtime.journal.search import Wanted
from bylaw.runtime.paths import real_path
from bylaw.runtime.root import absolute, read_configuration
from bylaw.tools.printers.paint import Paint, Style
from bylaw.tools.printers.timeline import Lines
from bylaw.tools.printers.wording import wrapped
from bylaw.tools.timeline import Scale, timeline

if TYPE_CHECKING:
    from bylaw.hosts.demo.scenes import Act

MAX_TOLD_LINES = 6
_WHO = 8  # columns


@click.command(context_settings=HELP_OPTIONS)
@click.argument("folder", required=False, type=click.Path())
def command(*, folder: str | None) -> int:
    """Watch a scripted agent work under rules of all five languages.

    Creates a small git repository in FOLDER, which must be new or empty, or in a temporary
    folder. Runs a session in it and shows which commands to try next. Needs no network, no key
    and no model, and exits by itself.

    \b
    Examples:
      bylaw demo
      bylaw demo somewhere/new
    """
    root = _made(folder)
    set_up(root)
    _Screen(root).play()
    return 0


def _made(folder: str | None) -> str:
    try:
        if folder is None:
            return real_path(mkdtemp(prefix="bylaw-demo-"))
        os.makedirs(folder, exist_ok=True)  # noqa: PTH103 - keep the path as written
        if os.listdir(folder):  # noqa: PTH208 - same
            raise BylawError(f"`{visible(folder)}` is not empty; choose a new folder")
    except OSError as wrong:
        raise BylawError(f"cannot use {_named(folder)}: {wrong.strerror}") from None
    return real_path(folder)


def _named(folder: str | None) -> str:
    return "the folder for temporary files" if folder is None else f"`{visible(folder)}`"


class _Screen:
    """Shows every act, its records in the journal, and the reply of Bylaw."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._journal = absolute(read_configuration(root).settings.journal.path, root)
        self._seen = self._denied = 0
        self._columns = screen_columns()
        self._paint = Paint(in_color(sys.stdout))
        scale = Scale(newest=0, sessions=1, longest_session=0)
        self._lines = Lines.of(scale, self._columns, color=in_color(sys.stdout), one_session=True)

    def play(self) -> None:
        self._say("A scripted agent works in a small repository, under rules of five languages.")
        for number, scene in enumerate(scenes(self._root), 1):
            write("\n")
            self._say(scene.title, f"{number}. ", Style.STRONG)
            write(f"   {self._paint(Style.FAINT, scene.file)}\n")
            for act in scene.acts:
                self._show(act)
        self._further()

    def _show(self, act: Act) -> None:
        write("\n")
        self._said_by(act.who, act.what)
        told = act.do()
        for entry in timeline(self._journal, Wanted()):
            header = entry.stored.header
            if header.seq > self._seen:
                write(self._lines.render(entry))
                self._seen = header.seq
                self._denied = header.seq if header.verdict == Verdict.DENY.value else self._denied
        self._said_by("reply", told)

    def _say(self, text: str, head: str = "", style: Style = Style.PLAIN, again: str = "") -> None:
        """Write a text after its head. The lines that follow start with `again` or blanks."""
        for piece in wrapped(text, self._columns - len(head), MAX_TOLD_LINES):
            write(self._paint(style, f"{head}{piece}") + "\n")
            head = again or " " * len(head)

    def _said_by(self, who: str, text: str) -> None:
        """Write a text of several lines in a column beside the name of its speaker."""
        for line in text.splitlines():
            for piece in wrapped(line, self._columns - _WHO, MAX_TOLD_LINES):
                head = self._paint(Style.HELP, who) + " " * (_WHO - len(who))
                write(f"{head}{piece}".rstrip() + "\n")
                who = ""

    def _further(self) -> None:
        write(f"\n{self._paint(Style.STRONG, 'Try next')}\n\n")
        write(f"cd {shlex.quote(self._root)}\n")
        for words, what in (
            (
                "check",
                "check the rules of all languages; the demo trusted them for its own run only",
            ),
            ("log", f"show all events; `bylaw log {SESSION}` shows only those of the agent"),
            (f"explain {self._denied}", "explain why a rule denied, with the values that it read"),
            (
                "verify --decisions",
                "verify the journal, and compare every decision with its replay",
            ),
        ):
            write("\n")
            self._remark(what)
            write(f"{_program()} {words}\n")
        write("\n")
        self._remark("remove the folder when you do not need it any more:")
        write(f"# rm -r {shlex.quote(self._root)}\n")

    def _remark(self, words: str) -> None:
        self._say(words, "# ", Style.FAINT, again="# ")


def _program() -> str:
    """Return the words that call this program from any folder."""
    beside = os.path.join(os.path.dirname(sys.executable), "bylaw")  # noqa: PTH118, PTH120 - do not follow links
    found = shutil.which("bylaw")
    if found and os.path.realpath(found) == os.path.realpath(beside):
        return "bylaw"
    return shlex.quote(beside)
