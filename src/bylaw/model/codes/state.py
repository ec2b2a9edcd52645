"""Codes for the files that Bylaw keeps for a root, in `.bylaw/state/`."""

from bylaw.model.codes import Code, Example

UNSAFE_STATE_FOLDER = Code(
    "unsafe-state-folder",
    "the state folder is reached through a link",
    "A link in a repository must not make Bylaw read or write other files of the machine.",
    "Make `.bylaw/state` a folder of the repository, or remove the link: Bylaw creates the folder "
    "when it needs it.",
    Example("state-link", ".bylaw/state"),
)

BROKEN_SWITCHES = Code(
    "broken-switches",
    "the file of disabled rules cannot be read",
    "Bylaw then does not know which rules a person disabled, so all of them are enabled. It does "
    "not overwrite the file, since that would lose the contents.",
    "Fix or remove the file, then disable the rules again with `bylaw rules disable`.",
    Example("switches", '{"version": 1, "disabled": ["toml:rules/a.toml#a"]}'),
)

NEWER_SWITCHES = Code(
    "newer-switches",
    "the file of disabled rules was written by a newer Bylaw",
    "This version does not know the format, so all rules are enabled and the file is left as it "
    "is.",
    "Use the newer Bylaw in this folder.",
    Example("switches", '{"version": 2, "disabled": {}}'),
)
