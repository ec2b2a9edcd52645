"""Create the repository of the demo: rules in five languages, a little code, one commit."""

from __future__ import annotations

from pathlib import Path

from bylaw.hosts.packaged_files import packaged_files
from bylaw.hosts.worktree.git.git import Git
from bylaw.model.errors import BylawError
from bylaw.model.visible import visible
from bylaw.runtime.reading import in_plain_words

_COMMANDS = (
    ("init", "-q", "-b", "main"),
    ("config", "user.name", "Bylaw"),
    ("config", "user.email", "demo@localhost"),
    ("config", "commit.gpgSign", "false"),
    ("add", "-A"),
    ("commit", "-q", "-m", "initial commit"),
)


def set_up(root: str) -> None:
    """Write all files and commit them. Raises BylawError if a file cannot be written."""
    try:
        for path, data in packaged_files("bylaw.hosts.demo", "repository"):
            file = Path(root, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
    except OSError as wrong:
        raise BylawError(f"cannot write to `{visible(root)}`: {in_plain_words(wrong)}") from None
    git = Git()
    for words in _COMMANDS:
        git.output(root, *words)
