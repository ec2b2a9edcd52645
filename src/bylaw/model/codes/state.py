"""Codes of what Bylaw keeps for a root, below `.bylaw/state/`."""

from bylaw.model.codes import Code, Example

UNSAFE_STATE_FOLDER = Code(
    "unsafe-state-folder",
    "the folder in which Bylaw keeps its state is reached through a link",
    "A link in a repository must not make Bylaw read or write other files of the machine.",
    "Make `.bylaw/state` a folder of the repository, or remove the link: Bylaw makes the folder "
    "when it needs it.",
    Example("state-link", ".bylaw/state"),
)

BROKEN_SWITCHES = Code(
    "broken-switches",
    "the file that says which rules are switched off cannot be read",
    "Which rules a person switched off is then not known, so all of them are on. The file is not "
    "written either, since that would lose what it says.",
    "Mend the file or remove it, then switch the rules off again with `bylaw rules disable`.",
    Example("switches", '{"version": 1, "disabled": ["toml:rules/a.toml#a"]}'),
)

NEWER_SWITCHES = Code(
    "newer-switches",
    "the file that says which rules are switched off was written by a newer Bylaw",
    "What the newer version means is not known here, so all rules are on and the file is left as "
    "it is.",
    "Use the newer Bylaw in this folder.",
    Example("switches", '{"version": 2, "disabled": {}}'),
)
