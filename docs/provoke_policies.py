"""Examples of file policies → what the language says about them; see provoke.py."""

from __future__ import annotations

from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from bylaw.cli.policies import not_checked_diagnostics
from bylaw.languages import file_policies
from bylaw.languages.base import RuleFile
from bylaw.model.errors import BylawError
from bylaw.model.source import SourceFile
from bylaw.worktree.run import run_policies

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bylaw.model.codes import Example
    from bylaw.model.diagnostic import Diagnostic

TEXT = "---\ntrigger: src/**/*.py\n---\nCheck it.\n"


def policy(example: Example) -> Sequence[Diagnostic]:
    """What is wrong with the text of one policy."""
    return _found(("policy.md", example.text))


def policies(example: Example) -> Sequence[Diagnostic]:
    """What is wrong with policies of these names, whose texts are faultless."""
    return _found(*((name.strip("`"), TEXT) for name in example.text.split()))


def policies_run(_example: Example) -> Sequence[Diagnostic]:
    """What is said in a folder that is no repository."""
    with TemporaryDirectory() as folder:
        try:
            run_policies(folder, None, print, trust=False)
        except BylawError as problem:
            return not_checked_diagnostics(BylawError(str(problem).replace(folder, "/empty")))
    return []


def _found(*texts: tuple[str, str]) -> Sequence[Diagnostic]:
    files = [RuleFile(SourceFile(name, text), "") for name, text in texts]
    return file_policies.load(files).diagnostics


READERS: dict[str, Callable[[Example], Sequence[Diagnostic]]] = {
    "policy": policy,
    "policies": policies,
    "policies-run": policies_run,
}
