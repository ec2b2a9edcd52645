"""Examples of rules → what is said of them in a host that cannot do everything; see provoke.py."""

from __future__ import annotations

from functools import partial
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from bylaw.model.source import SourceFile
from bylaw.report.check import check_host
from bylaw.runtime.effects import ABILITIES
from bylaw.runtime.loader import load_texts
from bylaw.runtime.rule_files import FoundRuleFile, RuleFileReason, RuleText, SearchResult

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bylaw.model.codes import Example
    from bylaw.model.diagnostic import Diagnostic

# How a text begins, and as what it is read.
FILES = {
    "<rules>": ("main.chatmd", "chatmd"),
    "---": ("policies/tests.md", "policies"),
    "rule": ("rules/bye.toml", "toml"),
}


def in_host(host: str, example: Example) -> Sequence[Diagnostic]:
    """What a client cannot do with a rule file."""
    path, dialect = next(FILES[one] for one in FILES if example.text.startswith(one))
    found = FoundRuleFile(path, path, dialect, RuleFileReason.GIVEN, path, "")
    text = RuleText(found, SourceFile(path, example.text))
    with TemporaryDirectory() as root:
        return check_host(load_texts(SearchResult(root, (found,)), [text]), host)


READERS: dict[str, Callable[[Example], Sequence[Diagnostic]]] = {
    f"host-{host}": partial(in_host, host) for host in ABILITIES
}
