"""Codes for the configuration of coding agents, into which hooks are installed."""

from bylaw.model.codes import Code, Example

CLIENT_SETTINGS = Code(
    "client-settings",
    "the configuration of a coding agent cannot be edited",
    "Bylaw adds hooks to the client's own configuration file and leaves everything else in it "
    "unchanged. It does not touch a file that the client itself could not read, or that has "
    "something else where hooks belong.",
    "Fix the underlined text, then run `bylaw install` again.",
    Example("client-settings", '{\n  "hooks": []\n}\n'),
)
