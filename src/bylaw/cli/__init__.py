"""Entry point of the command line. Arguments and terminal only; the work is done in other packages.

Modules are imported when they are needed: `bylaw --version` imports only this module, the version
and `errors`. A hook call goes directly to the entry point of hooks, without click.
"""

from __future__ import annotations

import sys

from bylaw.cli.errors import exit_code_of, use_utf8
from bylaw.version import __version__


def main() -> int:
    """Run `bylaw` with the arguments of this process and return its exit code."""
    if _is_hook(sys.argv[1:]):
        from bylaw.hosts.hooks.entrypoint import main as answer  # noqa: PLC0415 - without click, which is slow to import

        return answer(sys.argv[2:])
    use_utf8()
    return exit_code_of(_print_version if sys.argv[1:] == ["--version"] else _run_verb)


def _is_hook(arguments: list[str]) -> bool:
    """Whether these are the arguments of a client: `hook`, a host, perhaps an event, no option."""
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
    from bylaw.cli.frame import run  # noqa: PLC0415 - click is slow to import; `--version` does without

    return run(sys.argv[1:])
