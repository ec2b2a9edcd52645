"""Documents that mean harm, and the code of the error that each of them must give; "" loads."""

from context_documents import block, module

from contract_texts import DOC

_A_LOT = 100_000
_BODY = 95_000  # characters, just below the limit of a body


def _filled(start, piece, end=""):
    """A body of pieces that is as long as a body may be; `piece` makes one of a number."""
    room, pieces = _BODY - len(start) - len(end), []
    while room > 0:
        pieces.append(piece(len(pieces)))
        room -= len(pieces[-1])
    return start + "".join(pieces) + end


def _enum(body):
    return module(block("ENUM", body))


def _letters(number):
    return "".join(chr(97 + number // 26**place % 26) for place in range(4))


def _enums(count):
    return "".join(
        block("ENUM", f"name: E{number}", "values: [a]") + "\n" for number in range(count)
    )


def _framing():
    yield "markers that open", "[[ENUM]]\n" * _A_LOT, "PARSE_ERROR"
    yield "modules that open", "[[MODULE]]\n" * _A_LOT, "PARSE_ERROR"
    yield "markers that close", "[[/ENUM]]\n" * _A_LOT, "PARSE_ERROR"
    yield "unknown markers", "".join(f"[[{_letters(n)}]]\n" for n in range(_A_LOT)), "PARSE_ERROR"
    nested = "[[MODULE]]\n" + "[[ENUM]]\n" * 19_000
    yield "open blocks and other ends", nested + "[[/STATE]]\n" * 80_000, "PARSE_ERROR"
    yield "open blocks and their ends", nested + "[[/ENUM]]\n" * 19_000, "PARSE_ERROR"
    yield "too many blocks", module(_enums(_A_LOT // 2)), "PARSE_ERROR"
    yield "empty blocks", module("[[ENUM]]\n[[/ENUM]]\n" * 19_000), "PARSE_ERROR"
    yield "brackets", "[[" * 2_500_000, ""
    yield "blanks before a marker", " " * 5_000_000 + "[[x", ""
    yield "lines that are nearly markers", module(block("GUIDELINES", "[[x\n" * 1_200_000)), ""


def _bodies():
    yield "a large body", _enum("name: E\nvalues: [" + "a," * 2_500_000 + "]"), "PARSE_ERROR"
    yield "a large text", module(block("GUIDELINES", "x" * 5_000_000)), ""
    yield (
        "a value many times",
        _enum(_filled("name: E\nvalues: [", lambda _: "a,", "]")),
        "SCHEMA_VIOLATION",
    )
    yield "many keys", _enum(_filled("", lambda n: f"k{n}: 1\n")), "SCHEMA_VIOLATION"
    yield (
        "a long name",
        _enum(_filled("name: ", lambda _: "x", "\nvalues: [a]")),
        "SCHEMA_VIOLATION",
    )
    yield "a long number", module(block("STATE", "name: s", "type: Int", _filled("default: ", lambda _: "9"))), "SCHEMA_VIOLATION"  # fmt: skip
    yield "nested lists", _enum(_filled("name: ", lambda _: "[")), "PARSE_ERROR"
    yield "nested mappings", _enum("\n".join(" " * n + "a:" for n in range(400))), "PARSE_ERROR"
    bomb = "a: &a [x, x]\n" + "".join(
        f"{chr(n + 1)}: &{chr(n + 1)} [*{chr(n)}, *{chr(n)}]\n" for n in range(97, 121)
    )
    yield "laughs", _enum(bomb), "INVALID_YAML"
    yield "aliases", _enum(_filled("a: &a x\nb: [", lambda _: "*a,", "]")), "INVALID_YAML"
    yield "merge keys", _enum(_filled("", lambda n: f"k{n}: {{<<: {{}}}}\n")), "INVALID_YAML"


def _meanings():
    yield "a type of many", module(block("STATE", "name: s", _filled('type: "X<', lambda _: "A,", 'A>"'))), "SCHEMA_VIOLATION"  # fmt: skip
    yield "a deep type", module(block("STATE", "name: s", _filled('type: "', lambda _: "List<", '"'))), "SCHEMA_VIOLATION"  # fmt: skip
    state = block("STATE", "name: s", "type: String")
    opened = _filled('effects: {set_state: [{name: s, value: "', lambda _: "${", '"}]}')
    yield (
        "placeholders that open",
        module(state, block("COMMAND", "name: c", opened)),
        "REFERENCE_ERROR",
    )
    many = _filled('effects: {set_state: [{name: s, value: "x', lambda _: "${$state.s}", '"}]}')
    yield "many placeholders", module(state, block("COMMAND", "name: c", many)), ""
    known = block("PROTOCOL", _filled("protocols:\n", lambda n: f"- {{id: q{n}, rules: []}}\n"))
    unknown = _filled("effects: {enable: {protocols: [", lambda n: f"p{n},", "]}}")
    yield "unknown names", module(known, block("COMMAND", "name: c", unknown)), "UNKNOWN_ID"
    twice = _filled("effects: {enable: {protocols: [", lambda _: "q1,", "]}}")
    yield "a name many times", module(known, block("COMMAND", "name: c", twice)), "DUPLICATE_ID"
    steps = _filled("workflows:\n- id: w\n  steps:\n", lambda _: "  - {kind: run}\n")
    yield "steps that are none", module(block("WORKFLOW", steps)), "SCHEMA_VIOLATION"


def _products():
    """A command enables many workflows of many steps, and there are many such commands."""
    many = range(120)
    protocols = "".join(
        f"- {{id: p{n}, rules: [{{id: a, check: {{type: forbid_tool, tool: t{n}}}}}]}}\n"
        for n in many
    )
    steps = ", ".join(f"{{kind: enforce_protocol, ref: p{n}}}" for n in many)
    workflows = [block("WORKFLOW", f"workflows: [{{id: w{n}, steps: [{steps}]}}]") for n in many]
    lists = f"protocols: [{', '.join(f'p{n}' for n in many)}], workflows: [{', '.join(f'w{n}' for n in many)}]"
    commands = [
        block("COMMAND", f"name: c{n}", f"effects: {{enable: {{{lists}}}}}") for n in many[:30]
    ]
    yield (
        "much that is enabled",
        module(block("PROTOCOL", "protocols:", protocols), *workflows, *commands),
        "",
    )


def _bytes():
    enum = _enum("name: E\nvalues: [a]").encode()
    yield "NUL in a body", enum.replace(b"[a]", b"[a, \0]"), "PARSE_ERROR"
    yield "NUL in prose", b"\0\n" + enum, ""
    yield "NUL in a text", module(block("GUIDELINES", "\0")).encode(), ""
    yield "line ends of Windows", DOC.replace("\n", "\r\n").encode(), ""
    yield "a byte order mark", b"\xef\xbb\xbf" + enum, ""
    yield "two byte order marks", b"\xef\xbb\xbf" * 2 + enum, "PARSE_ERROR"
    yield "no UTF-8", b"\xff\xfe" + enum, "PARSE_ERROR"
    yield "no UTF-8 in a body", enum.replace(b"[a]", b"[\xc3]"), "PARSE_ERROR"
    yield "half of a pair", enum.replace(b"[a]", b"[\xed\xa0\x80]"), "PARSE_ERROR"
    yield "UTF-16", enum.decode().encode("utf-16"), "PARSE_ERROR"
    yield "a file that is too large", b"x" * (5 * 1024 * 1024 + 1), "PARSE_ERROR"
    yield "nothing", b"", ""
    yield "separators of lines", enum.replace(b"[a]", "[a\u2028b]".encode()), "PARSE_ERROR"


def hostile_documents():
    """Names, bytes and codes."""
    for make in (_framing, _bodies, _meanings, _products):
        for name, text, code in make():
            yield name, text.encode(), code
    yield from _bytes()
