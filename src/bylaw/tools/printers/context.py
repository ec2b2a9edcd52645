"""Print the results of `bylaw context` as text or as data for JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.tools.printers.table import aligned
from bylaw.tools.printers.wording import in_short, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bylaw.model.slate import Enabled
    from bylaw.tools.context.conversation import Answer
    from bylaw.tools.context.formatting import Formatted
    from bylaw.tools.context.variables import Variable

HEADINGS = ("variable", "type", "value")
NOTHING_ENABLED = "nothing is enabled"
MAX_VALUE = 200  # characters of a value in a table


def answer_as_data(answer: Answer) -> dict[str, object]:
    """Return an answer of `bylaw context call` as data."""
    return {
        "message": answer.message,
        "result": answer.result.value,
        "output": answer.output,
        "state": answer.state,
        "enabled": enabled_as_data(answer.enabled),
    }


def enabled_as_data(enabled: Enabled) -> dict[str, list[str]]:
    """Return the qualified names of everything that is enabled."""
    return {kind: list(names) for kind, names in _kinds(enabled)}


def state_as_data(variables: Sequence[Variable], enabled: Enabled) -> dict[str, object]:
    """Return the variables and everything that is enabled."""
    listed = [{"name": one.name, "type": one.type, "value": one.value} for one in variables]
    return {"variables": listed, "enabled": enabled_as_data(enabled)}


def render_variables(variables: Sequence[Variable]) -> str:
    """Print a table of the variables."""
    if not variables:
        return "no variables\n"
    rows = [HEADINGS, *map(_row, variables)]
    return "".join(f"{line}\n" for line in aligned(rows))


def render_enabled(enabled: Enabled) -> str:
    """Print a line for each kind that has an enabled name."""
    lines = [f"{kind}: {shown(', '.join(names))}" for kind, names in _kinds(enabled) if names]
    return "".join(f"{line}\n" for line in lines or [NOTHING_ENABLED])


def formatted_as_data(files: Sequence[Formatted], *, with_text: bool) -> dict[str, object]:
    """Return the files, and whether their canonical form differs."""
    plain = [{"path": one.path, "changed": one.changed} for one in files]
    if with_text:
        return {
            "files": [{**data, "text": one.text} for data, one in zip(plain, files, strict=True)]
        }
    return {"files": plain}


def render_changed(files: Sequence[Formatted], word: str) -> str:
    """Print a line for each file that is not in canonical form."""
    return "".join(f"{word}: {shown(one.path)}\n" for one in files if one.changed)


def _row(one: Variable) -> tuple[str, ...]:
    return shown(one.name), shown(one.type), shown(in_short(one.value, MAX_VALUE))


def _kinds(enabled: Enabled) -> Iterator[tuple[str, tuple[str, ...]]]:
    yield "responses", enabled.responses
    yield "workflows", enabled.workflows
    yield "protocols", enabled.protocols
