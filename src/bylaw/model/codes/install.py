"""Codes of the configuration of coding agents, into which hooks are installed."""

from bylaw.model.codes import Code, Example

CLIENT_SETTINGS = Code(
    "client-settings",
    "the configuration of a coding agent cannot be edited",
    "Hooks are put into the text of the client's own configuration, beside whatever else is there. "
    "A file that the client itself could not read, or in which something else stands where hooks "
    "belong, is left exactly as it is.",
    "Mend what is underlined, and call `bylaw install` again.",
    Example("client-settings", '{\n  "hooks": []\n}\n'),
)
