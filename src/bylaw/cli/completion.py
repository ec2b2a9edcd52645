"""`bylaw completion`: print the completion script of a shell."""

from __future__ import annotations

import click
from click.shell_completion import ShellComplete, get_completion_class

from bylaw.cli.frame import COMPLETION_VARIABLE, HELP_OPTIONS, PROGRAM, bylaw
from bylaw.cli.terminal import write

SHELLS = ["bash", "zsh", "fish"]


@click.command(context_settings=HELP_OPTIONS)
@click.argument("shell", type=click.Choice(SHELLS))
def completion_command(shell: str) -> None:
    """Print a script that completes commands and options in SHELL: bash, zsh or fish.

    Install it once, then open a new shell:

    \b
      bash: bylaw completion bash \\
              > ~/.local/share/bash-completion/completions/bylaw
      zsh:  bylaw completion zsh > ~/.zfunc/_bylaw   (with ~/.zfunc in $fpath)
      fish: bylaw completion fish > ~/.config/fish/completions/bylaw.fish

    Or try it in the current shell only:

    \b
      source <(bylaw completion bash)
    """
    completer = get_completion_class(shell)
    assert completer is not None
    # Call the base method: the one for bash starts a process to read the version of bash.
    script = ShellComplete.source(completer(bylaw, {}, PROGRAM, COMPLETION_VARIABLE))
    write(script.rstrip("\n") + "\n")
