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
from bylaw.cli.terminal import screen_columns, uses_color, write
from bylaw.hosts.demo.story import SESSION, create_repository, scenes
from bylaw.model.display import visible, wrap
from bylaw.model.errors import BylawError
from bylaw.model.paint import Paint, Style
from bylaw.model.vocabulary import Verdict
from bylaw.report.log import ColumnWidths, read_entries
from bylaw.report.printers.log import LogPrinter
from bylaw.runtime.root import read_configuration
from bylaw.store.files import absolute
from bylaw.store.journal.search import RecordFilter
from bylaw.store.paths import real_path

if TYPE_CHECKING:
    from bylaw.hosts.demo.story import Act

MAX_TEXT_LINES = 6
_SPEAKER_COLUMNS = 8  # columns


@click.command(context_settings=HELP_OPTIONS)
@click.argument("folder", required=False, type=click.Path())
def demo_command(*, folder: str | None) -> int:
    """Watch a scripted agent work under rules of all five languages.

    Creates a small git repository in FOLDER, which must be new or empty, or in a temporary
    folder. Runs a session in it and shows which commands to try next. Needs no network, no key
    and no model, and exits by itself.

    \b
    Examples:
      bylaw demo
      bylaw demo somewhere/new
    """
    root = _create_folder(folder)
    create_repository(root)
    _DemoScreen(root).play()
    return 0


def _create_folder(folder: str | None) -> str:
    try:
        if folder is None:
            return real_path(mkdtemp(prefix="bylaw-demo-"))
        os.makedirs(folder, exist_ok=True)  # noqa: PTH103 - keep the path as written
        if os.listdir(folder):  # noqa: PTH208 - same
            raise BylawError(f"`{visible(folder)}` is not empty; choose a new folder")
    except OSError as wrong:
        raise BylawError(f"cannot use {_folder_title(folder)}: {wrong.strerror}") from None
    return real_path(folder)


def _folder_title(folder: str | None) -> str:
    return "the folder for temporary files" if folder is None else f"`{visible(folder)}`"


class _DemoScreen:
    """Shows every act, its records in the journal, and the reply of Bylaw."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._journal = absolute(read_configuration(root).settings.journal.path, root)
        self._seen = self._denied = 0
        self._columns = screen_columns()
        self._paint = Paint(uses_color(sys.stdout))
        scale = ColumnWidths(newest=0, sessions=1, longest_session=0)
        self._lines = LogPrinter.of(
            scale, self._columns, color=uses_color(sys.stdout), one_session=True
        )

    def play(self) -> None:
        self._write_text(
            "A scripted agent works in a small repository, under rules of five languages."
        )
        for number, scene in enumerate(scenes(self._root), 1):
            write("\n")
            self._write_text(scene.title, f"{number}. ", Style.STRONG)
            write(f"   {self._paint(Style.FAINT, scene.file)}\n")
            for act in scene.acts:
                self._show(act)
        self._write_next_steps()

    def _show(self, act: Act) -> None:
        write("\n")
        self._write_speech(act.who, act.what)
        told = act.do()
        for entry in read_entries(self._journal, RecordFilter()):
            header = entry.stored.header
            if header.seq > self._seen:
                write(self._lines.render(entry))
                self._seen = header.seq
                self._denied = header.seq if header.verdict == Verdict.DENY.value else self._denied
        self._write_speech("reply", told)

    def _write_text(
        self, text: str, head: str = "", style: Style = Style.PLAIN, again: str = ""
    ) -> None:
        """Write a text after its head. The lines that follow start with `again` or blanks."""
        for piece in wrap(text, self._columns - len(head), MAX_TEXT_LINES):
            write(self._paint(style, f"{head}{piece}") + "\n")
            head = again or " " * len(head)

    def _write_speech(self, who: str, text: str) -> None:
        """Write a text of several lines in a column beside the name of its speaker."""
        for line in text.splitlines():
            for piece in wrap(line, self._columns - _SPEAKER_COLUMNS, MAX_TEXT_LINES):
                head = self._paint(Style.HELP, who) + " " * (_SPEAKER_COLUMNS - len(who))
                write(f"{head}{piece}".rstrip() + "\n")
                who = ""

    def _write_next_steps(self) -> None:
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
            self._write_comment(what)
            write(f"{_program_words()} {words}\n")
        write("\n")
        self._write_comment("remove the folder when you do not need it any more:")
        write(f"# rm -r {shlex.quote(self._root)}\n")

    def _write_comment(self, words: str) -> None:
        self._write_text(words, "# ", Style.FAINT, again="# ")


def _program_words() -> str:
    """Return the words that call this program from any folder."""
    beside = os.path.join(os.path.dirname(sys.executable), "bylaw")  # noqa: PTH118, PTH120 - do not follow links
    found = shutil.which("bylaw")
    if found and os.path.realpath(found) == os.path.realpath(beside):
        return "bylaw"
    return shlex.quote(beside)
