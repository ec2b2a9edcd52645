"""Arguments → calls of the layers below, one module a verb (the table is in `verbs`).

Nothing is imported before it is used: `bylaw --version` runs on this module alone.
"""

from __future__ import annotations

import sys

from bylaw.cli.failure import exit_code_of, use_utf8
from bylaw.version import __version__


def main() -> int:
    """Run `bylaw` with the arguments of this process; the result is its exit code."""
    if _is_hook(sys.argv[1:]):
        from bylaw.hosts.hooks.front import main as answer  # noqa: PLC0415 - no click: it must be quick

        return answer(sys.argv[2:])
    use_utf8()
    return exit_code_of(_print_version if sys.argv[1:] == ["--version"] else _run_verb)


def _is_hook(arguments: list[str]) -> bool:
    """Whether a client calls: a host, perhaps an event, and no option."""
    return (
        arguments[:1] == ["hook"]
        and len(arguments) in (2, 3)
        and "-" not in (argument[:1] for argument in arguments)
    )


def _print_version() -> int:
    if sys.stdout is None:
        raise BrokenPipeError
    sys.stdout.write(f"bylaw {__version__}\n")
    return 0


def _run_verb() -> int:
    from bylaw.cli.frame import run  # noqa: PLC0415 - click is heavy, the version must come fast

    return run(sys.argv[1:])
