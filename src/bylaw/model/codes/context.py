"""Codes of the context language: its document fixes them, in capitals, so they keep that form."""

from bylaw.model.codes import Code, Example


def _context(text: str) -> Example:
    return Example("context", text)


def _module(*blocks: str) -> Example:
    return _context("\n".join(("[[MODULE]]", "name: m", "description: d", *blocks, "[[/MODULE]]")))


PARSE_ERROR = Code(
    "PARSE_ERROR",
    "the blocks of a document are not properly framed, or a body is no YAML document",
    "Markers stand alone on their lines, every block is closed where it was opened, and the body "
    "of a YAML block is one YAML document. What cannot be read completely is not read at all.",
    "Close the block that the error names, or mend its YAML.",
    _context("[[MODULE]]\nname: m\ndescription: d\n"),
)
INVALID_YAML = Code(
    "INVALID_YAML",
    "a body is YAML, but uses what this language leaves out",
    "Tags, anchors, aliases, merge keys, directives and keys that are no texts make a value depend "
    "on more than what stands there.",
    "Write the value out.",
    _module("[[ENUM]]", "name: &a WorkMode", "values: [plan]", "[[/ENUM]]"),
)
SCHEMA_VIOLATION = Code(
    "SCHEMA_VIOLATION",
    "a block has a key, a value or a place that its schema does not allow",
    "Schemas are closed: what they do not name would be ignored, and its author would rely on it.",
    "Do what the error says: rename or delete the key, give the value the right type, or move the "
    "block into a module.",
    _module("[[ENUM]]", "name: WorkMode", "values: [plan]", "colour: red", "[[/ENUM]]"),
)
DUPLICATE_ID = Code(
    "DUPLICATE_ID",
    "an id is given twice in one list",
    "Two rules of a protocol with one id cannot be told apart, and to set or enable something "
    "twice in one command has no meaning.",
    "Rename or delete one of the two.",
    _module(
        "[[PROTOCOL]]",
        "protocols:",
        "  - id: p",
        "    rules:",
        "      - {id: r, check: {preset: no_browsing}}",
        "      - {id: r, check: {preset: no_browsing}}",
        "[[/PROTOCOL]]",
    ),
)
UNKNOWN_ID = Code(
    "UNKNOWN_ID",
    "something is referred to that is not there",
    "Nothing is guessed: a reference that means nothing is an error where it is written.",
    "Mend the name, or declare what it means.",
    _module("[[STATE]]", "name: mode", "type: WorkMode", "[[/STATE]]"),
)
REFERENCE_ERROR = Code(
    "REFERENCE_ERROR",
    "a reference has the wrong form, or means something of another module without naming it",
    "A symbol of another module is written `module.symbol`; a value refers to `$arg0`, `$name` or "
    "`$state.x` and to nothing else; a workflow refers to what is enabled with it.",
    "Write the reference as the error says.",
    _module("[[STATE]]", "name: s", "type: String", "[[/STATE]]", "[[COMMAND]]", "name: c",
            'effects: {set_state: [{name: s, value: "$arg0"}]}', "[[/COMMAND]]"),
)  # fmt: skip
AMBIGUOUS_ID = Code(
    "AMBIGUOUS_ID",
    "a reference could mean symbols of several modules",
    "All ambiguity is an error; the one that was meant is not guessed.",
    "Write `module.symbol`; the error lists the candidates.",
    _context(
        "\n".join(
            f"[[MODULE]]\nname: {name}\ndescription: d\n"
            "[[ENUM]]\nname: E\nvalues: [a]\n[[/ENUM]]\n"
            "[[STATE]]\nname: s\ntype: E\ndefault: a\n[[/STATE]]\n[[/MODULE]]"
            for name in ("m", "n")
        )
    ),
)
CONFLICT = Code(
    "CONFLICT",
    "what is enabled together cannot hold, or an output does not keep to what is enabled",
    "No output can satisfy a tool that is both forbidden and required. While a protocol is "
    "enabled, its rules are always enforced.",
    "Enable one of the two; or keep to the rule that the error names.",
    _module(
        "[[PROTOCOL]]",
        "protocols:",
        "  - {id: p, rules: [{id: a, check: {preset: no_code_execution}}]}",
        "  - {id: q, rules: [{id: a, check: {preset: require_code_execution}}]}",
        "[[/PROTOCOL]]",
        "[[COMMAND]]",
        "name: c",
        "effects: {enable: {protocols: [p, q]}}",
        "[[/COMMAND]]",
    ),
)
INVALID_COMMAND = Code(
    "INVALID_COMMAND",
    "a line is a call, but not one that the command takes",
    "Calls are the only thing that is executed, so nothing about them is inferred: the form, the "
    "number and the types of arguments are those of the command's signature.",
    "Call it as its signature says, such as `/mode(design)`.",
    Example("context-call", "/setmode(deploy)"),
)
