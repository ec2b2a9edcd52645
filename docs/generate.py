"""Write the generated parts of docs/: diagnostics, commands, settings, tables. See `make docs`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from provoke import provoke
from settings_page import settings_page
from tables import PLACE, filled

from bylaw.cli.frame import COMMANDS, PROGRAM, bylaw
from bylaw.model.display import clip_text, visible
from bylaw.report.printers.formats import all_codes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.model.codes import Code, Example

DOCS = Path(__file__).parent
DIAGNOSTICS = DOCS / "diagnostics"
WRITTEN = [*DOCS.glob("*.md"), *DOCS.glob("hosts/*.md")]
WITH_TABLES = [page for page in WRITTEN if PLACE.search(page.read_text(encoding="utf-8"))]
MAX_EXAMPLE = 300
HELP_WIDTH = 80
# Descriptions of examples that the page does not show, by kind.
SIZES = {
    "event-sessions": "events of {:,} sessions",
    "event-size": "a line of {:,} bytes",
    "input-size": "a file of {:,} bytes",
}
CHECKS = {
    "journal-busy": "a journal that another process is writing{}",
    "journal-folder": "a folder named `{}` in place of the journal",
    "journal-pages": "a journal on a disk with space for {} pages",
    "journal-version": "a journal in format {}",
    "journal-none": "`bylaw {}` without any record",
    "journal-verb": "`bylaw {}` with one recorded event, for which no rule fired",
    "policies": "valid policies in the files {}",
    "decide-crash": "a {} that reads a field that the event does not have",
    "decide-endless-needs": "a check that requests one more fact `{}` each time",
    "decide-unknown-fact": "a rule that needs the fact `{}`, which is not available",
}
INDEX_INTRODUCTION = """\
Every finding has a stable code. This table lists all codes. `bylaw expr` adds the prefix `load-` to
codes of errors at load. `bylaw match` reports every code of a pattern as `pattern-error`."""
GENERATED = "<!-- written by `make docs`; edit the source, not this page -->"


def pages() -> dict[Path, str]:
    """Return the text of every generated page."""
    codes = all_codes()
    return {
        **{DIAGNOSTICS / f"{name}.md": code_page(code) for name, code in codes.items()},
        DIAGNOSTICS / "README.md": index_page(codes),
        DOCS / "cli.md": verbs_page(),
        DOCS / "configuration.md": f"{GENERATED}\n\n{settings_page()}",
        **{page: filled(page.read_text(encoding="utf-8")) for page in WITH_TABLES},
    }


def stale(current: dict[Path, str]) -> list[Path]:
    """Return pages on disk that are no longer generated."""
    return [path for path in sorted(DIAGNOSTICS.glob("*.md")) if path not in current]


def code_page(code: Code) -> str:
    """Return the page of a code: its meaning, an example with the report, and the fix."""
    parts = [
        GENERATED,
        f"# {code.name}",
        _sentence(code.summary),
        "## Why",
        code.why,
        "## Example",
        *_example(code.example),
        "Bylaw reports:",
        _fenced(provoke(code.example).shown),
        "## How to fix it",
        code.fix,
    ]
    return "\n\n".join(parts) + "\n"


def index_page(codes: dict[str, Code]) -> str:
    """Return the index: all codes with their summaries."""
    rows = [f"| [{name}]({name}.md) | {_cell(code.summary)} |" for name, code in codes.items()]
    table = "\n".join(["| Code | Meaning |", "| --- | --- |", *rows])
    return f"{GENERATED}\n\n# Diagnostics\n\n{INDEX_INTRODUCTION}\n\n{table}\n"


def verbs_page() -> str:
    """Return the help of `bylaw` and of every command, as the program prints it."""
    parts = [GENERATED, "# The command line", _fenced(_help(bylaw, None))]
    with bylaw.make_context(PROGRAM, [], resilient_parsing=True) as parent:
        for name in COMMANDS:
            parts += _verb(bylaw, parent, name)
    return "\n\n".join(parts) + "\n"


def _verb(group: click.Group, parent: click.Context, name: str) -> Iterator[str]:
    """Yield the help of a command and of its subcommands."""
    command = group.get_command(parent, name)
    assert command is not None
    yield f"## {parent.command_path} {name}"
    yield _fenced(_help(command, parent, name))
    if isinstance(command, click.Group):
        with command.make_context(name, [], parent, resilient_parsing=True) as context:
            for below in command.list_commands(context):
                yield from _verb(command, context, below)


def _help(command: click.Command, parent: click.Context | None, name: str = PROGRAM) -> str:
    context = command.make_context(
        name, [], parent, resilient_parsing=True, terminal_width=HELP_WIDTH
    )
    return command.get_help(context)


def _example(example: Example) -> list[str]:
    parts = [_fenced(_shown_example(example))]
    if example.facts != "{}":
        parts += ["With these facts:", _fenced(clip_text(example.facts, MAX_EXAMPLE), "json")]
    return parts


def _shown_example(example: Example) -> str:
    if example.kind == "input-bytes":
        return example.text.encode("latin-1").decode("ascii", "backslashreplace")
    if example.kind in SIZES:
        return SIZES[example.kind].format(int(example.text))
    if example.kind in CHECKS:
        return CHECKS[example.kind].format(example.text)
    if not example.text:
        return "(an empty text)"
    lines = clip_text(example.text, MAX_EXAMPLE).split("\n")
    return "\n".join(visible(line) for line in lines)


def _fenced(text: str, info: str = "text") -> str:
    ticks = "```"
    while ticks in text:
        ticks += "`"
    return f"{ticks}{info}\n{text.rstrip()}\n{ticks}"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "."


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def write_all() -> None:
    """Write all generated pages and remove old ones."""
    current = pages()
    DIAGNOSTICS.mkdir(exist_ok=True)
    for path, text in current.items():
        path.write_text(text, encoding="utf-8")
    for path in stale(current):
        path.unlink()
    print(f"{len(current)} pages written")


if __name__ == "__main__":
    write_all()
