"""`bylaw context fmt`: print or write context documents in their canonical form."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bylaw.cli.context_moment import files_argument
from bylaw.cli.failure import MISTAKE
from bylaw.cli.frame import HELP_OPTIONS
from bylaw.cli.output import emit, text_or_json, write
from bylaw.cli.progress import progress
from bylaw.model.errors import BylawError
from bylaw.runtime.reading import in_plain_words
from bylaw.runtime.writing import replace_file
from bylaw.tools.context.documents import read_given
from bylaw.tools.context.formatting import format_documents
from bylaw.tools.printers import context as printer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.tools.context.formatting import Formatted


@click.command(context_settings=HELP_OPTIONS)
@files_argument
@click.option(
    "--check", "checks", is_flag=True, help="List files that would change. Exit code 1 if any."
)
@click.option("--write", "writes", is_flag=True, help="Write the files that change.")
@text_or_json
def fmt(*, files: tuple[str, ...], checks: bool, writes: bool, form: str) -> int:
    """Print a document in its canonical form, or write it to its files.

    Each marker starts its line. Bodies of blocks are rewritten: keys in the order of their
    schema, two blanks for each level, quotes only where YAML 1.2 needs them, types as List<Int>
    and Map<String, Int>. Comments stay with what they describe. Prose, text blocks and the
    body of LANGUAGE_SPEC stay byte for byte. The meaning does not change, and formatting again
    changes nothing. If a document does not load, nothing is printed or written.

    Several FILEs are one document and are printed one after the other. Exit code 0 on success,
    1 if the document does not load or --check finds a file that would change.

    \b
    Examples:
      bylaw context fmt modes.md
      bylaw context fmt .bylaw/context --check
      bylaw context fmt modes.md review.md --write
    """
    if checks and writes:
        raise click.UsageError("cannot combine --check and --write")
    with progress() as tell:
        found = format_documents(read_given(files, tell))
    if writes:
        _write(found)
    if form == "json":
        emit(printer.formatted_as_data(found, with_text=not (checks or writes)))
    elif checks or writes:
        write(printer.render_changed(found, "changed" if writes else "would change"))
    else:
        write("".join(one.text for one in found))
    return MISTAKE if checks and any(one.changed for one in found) else 0


def _write(files: Sequence[Formatted]) -> None:
    for one in files:
        try:
            if one.changed:
                replace_file(one.location, one.text.encode())
        except (OSError, ValueError) as wrong:
            raise BylawError(f"cannot write `{one.path}`: {in_plain_words(wrong)}") from None
