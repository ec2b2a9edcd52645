"""Codes of the context language. Its document prescribes them in capitals."""

from bylaw.model.codes import Code, Example


def _context(text: str) -> Example:
    return Example("context", text)


def _module(*blocks: str) -> Example:
    return _context("\n".join(("[[MODULE]]", "name: m", "description: d", *blocks, "[[/MODULE]]")))


PARSE_ERROR = Code(
    "PARSE_ERROR",
    "the blocks of a document are not framed correctly, or a body is not a YAML document",
    "Markers are alone on their lines, every block is closed where it was opened, and the body of "
    "a YAML block is one YAML document. A document that cannot be read completely is not used at "
    "all.",
    "Close the block that the error names, or fix its YAML.",
    _context("[[MODULE]]\nname: m\ndescription: d\n"),
)
INVALID_YAML = Code(
    "INVALID_YAML",
    "a body uses YAML features that this language does not allow",
    "With tags, anchors, aliases, merge keys, directives and keys that are not texts, a value "
    "depends on more than the text at its place.",
    "Write the value out.",
    _module("[[ENUM]]", "name: &a WorkMode", "values: [plan]", "[[/ENUM]]"),
)
SCHEMA_VIOLATION = Code(
    "SCHEMA_VIOLATION",
    "a block has a key, a value or a place that its schema does not allow",
    "Schemas are closed: an unknown key would be ignored, although its author relies on it.",
    "Follow the error: rename or delete the key, give the value the right type, or move the block "
    "into a module.",
    _module("[[ENUM]]", "name: WorkMode", "values: [plan]", "colour: red", "[[/ENUM]]"),
)
DUPLICATE_ID = Code(
    "DUPLICATE_ID",
    "an id occurs twice in one list",
    "Two rules of a protocol with one id cannot be distinguished. Setting or enabling something "
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
    "a reference to something that does not exist",
    "Bylaw guesses nothing: an unknown reference is an error at the place where it is written.",
    "Correct the name, or declare it.",
    _module("[[STATE]]", "name: mode", "type: WorkMode", "[[/STATE]]"),
)
REFERENCE_ERROR = Code(
    "REFERENCE_ERROR",
    "a reference has the wrong form, or does not name the module that it refers to",
    "A symbol of another module is written `module.symbol`. A value refers only to `$arg0`, "
    "`$name` or `$state.x`. A workflow refers to what is enabled with it.",
    "Write the reference as the error says.",
    _module("[[STATE]]", "name: s", "type: String", "[[/STATE]]", "[[COMMAND]]", "name: c",
            'effects: {set_state: [{name: s, value: "$arg0"}]}', "[[/COMMAND]]"),
)  # fmt: skip
AMBIGUOUS_ID = Code(
    "AMBIGUOUS_ID",
    "a reference fits symbols of several modules",
    "Every ambiguity is an error. Bylaw does not guess.",
    "Write `module.symbol`. The error lists the candidates.",
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
    "enabled items contradict each other, or an output violates an enabled rule",
    "No output can satisfy a tool that is both forbidden and required. While a protocol is "
    "enabled, its rules are always enforced.",
    "Enable one of the two, or follow the rule that the error names.",
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
    "a line is a call, but the command does not accept it",
    "Only calls are executed, so nothing about them is inferred: the form, the number and the "
    "types of arguments must match the signature of the command.",
    "Call it as its signature says, such as `/mode(design)`.",
    Example("context-call", "/setmode(deploy)"),
)
