"""Random documents of the context language that load, written as nobody would write them.

The data of each block is drawn first; then its YAML is written in a style that changes from value
to value: plain, quoted, block, in brackets, with comments and blank lines anywhere. All of it
depends on one number, since drawing each choice by itself would take longer than what is tested.
"""

import re
from random import Random

from hypothesis import strategies as st

_SAFE = re.compile(r"[A-Za-z_$][A-Za-z0-9_.$/-]*")
_WORDS = {"true", "false", "null", "True", "False", "TRUE", "FALSE", "Null", "NULL"}
COMMENTS = ("# c", "#", "# a: b", "#[x]", "# 'quote", "#\ttab", "# ümläut")
PROSE = ("", "", "\n", "Some *prose*.\n", "a: : b\n\n\n", " see [[ENUM]] below\n", "# x\n")
BLANKS = ("", "", "", " ", "\t", "   ")
GUIDELINES = "be: : nice\n  [x\n"
# fmt: off
TEXTS = (
    "", "on", "yes", "null", "~", "1", "0x1f", "0o17", "1.5", "2024-01-01", "true", "-", "- a",
    "a: b", "a:b", "a #b", "a#b", "#a", "[x]", "a, b", "{a}", "'", '"', "a'b", 'a"b\\', "x\ny",
    "x\ny\n", "x\n\ny", "x\n", "\nx", "x\n\n", " x", "x ", "x\n y", "x \ny", "[[ENUM]]",
    "a\n[[ENUM]]\nb", "\t", "a\tb", "\r\n", "é", "\x85", "\u2028", "\ufeff", "\U0001f600", "\x00",
    "\x7f", "\U000e0001", "<<", "=", "!x", "&x", "*x", "%x", "@x", "`x`", "|", ">", "---", "...",
    "? x", "x:", ":x", "http://x/y?z=1#q", "a  b", ".inf", "1e999", "word", "two words", "$ 5",
    "a$b", "x\n# y", "x\n- y\n  z", "a long sentence that goes on for quite a while, with a comma",
)
# fmt: on
LETTERS = "abcXYZ012_- :#,[]{}'\"\\\n\té\u200b"


def contracts():
    """The texts of documents that load."""
    return st.builds(lambda seed: Wild(Random(seed)).document(), st.integers(0, 2**64))


class Wild:
    """Draws everything from one source of chance."""

    def __init__(self, chance):
        self.chance = chance
        self.pick = chance.choice

    def flip(self, one_in=2):
        return self.chance.randrange(one_in) == 0

    def document(self):
        parts = [self.pick(("", "\ufeff")), self.pick(PROSE)]
        for number in range(self.chance.randint(1, 3)):
            parts += [self.module(f"m{number}"), self.pick(PROSE)]
        text = "".join(parts)
        return text.replace("\n", "\r\n") if self.flip(4) else text

    def text(self):
        if self.flip(3):
            return "".join(self.pick(LETTERS) for _ in range(self.chance.randint(1, 9)))
        return self.pick(TEXTS)

    def names(self, prefix):
        return [
            f"{prefix}{self.pick('_-ab')}{number}" for number in range(self.chance.randint(0, 3))
        ]

    def maybe(self, data, key):
        return data | {key: self.text()} if self.flip() else data

    # ---- what the blocks hold

    def module(self, name):
        enums = {one: self.unique(self.text, 4) or ["x"] for one in self.names(f"{name}E")}
        states = {one: self.type(enums) for one in self.names(f"{name}s")}
        responses, protocols = self.names(f"{name}r"), self.names(f"{name}p")
        blocks = [
            ("ENUM", self.maybe({"name": one, "values": enums[one]}, "description"))
            for one in enums
        ]
        blocks += [("STATE", self.state(one, states[one], enums)) for one in states]
        blocks += [("RESPONSE", {"responses": [self.response(one)]}) for one in responses]
        if protocols:
            blocks.append(("PROTOCOL", {"protocols": [self.protocol(one) for one in protocols]}))
        for one in self.names(f"{name}w"):
            blocks.append(("WORKFLOW", {"workflows": [self.workflow(one, responses, protocols)]}))
        for one in self.names(f"{name}c"):
            blocks.append(("COMMAND", self.command(one, enums, states, responses, protocols)))
        self.chance.shuffle(blocks)
        header = self.body({"name": name, "description": self.text()})
        lines = [self.marker("MODULE"), header, self.pick(("", "\n", " \n\n"))]
        for type_, data in blocks:
            lines += [
                self.marker(type_),
                self.body(data),
                self.marker(f"/{type_}"),
                self.pick(PROSE),
            ]
            if self.flip(4):
                lines += [self.marker("GUIDELINES"), GUIDELINES, self.marker("/GUIDELINES")]
        return "".join([*lines, self.marker("/MODULE")])

    def marker(self, name):
        return f"{self.pick(BLANKS)}[[{name}]]{self.pick(BLANKS)}\n"

    def unique(self, make, at_most, key=lambda one: one):
        found = {key(one): one for one in (make() for _ in range(self.chance.randint(0, at_most)))}
        return list(found.values())

    def type(self, enums, depth=0):
        if depth < 3 and self.flip():
            return self.pick(("List", "Set", "Map")), self.type(enums, depth + 1)
        return self.pick(("Bool", "Int", "String", *enums))

    def type_text(self, type_):
        blank = self.pick(("", "", " ", "  "))
        match type_:
            case ("Map", of):
                return f"Map{blank}<{blank}String{blank},{blank}{self.type_text(of)}{blank}>"
            case (name, of):
                return f"{name}<{blank}{self.type_text(of)}>{blank}"
        return type_

    def value(self, type_, enums):
        match type_:
            case "Bool":
                return self.flip()
            case "Int":
                return self.chance.randint(-(2**53) + 1, 2**53 - 1) >> self.chance.randint(0, 60)
            case "String":
                return self.text()
            case ("Map", of):
                return {
                    self.text(): self.value(of, enums) for _ in range(self.chance.randint(0, 3))
                }
            case ("List", of):
                return [self.value(of, enums) for _ in range(self.chance.randint(0, 4))]
            case ("Set", of):
                return self.unique(lambda: self.value(of, enums), 4, lambda one: _key(one, of))
        return self.pick(enums[type_])

    def state(self, name, type_, enums):
        data = {"name": name, "type": self.type_text(type_)}
        if type_ in enums or self.flip():
            data["default"] = self.value(type_, enums)
        return data

    def response(self, name):
        data = self.maybe({"id": name}, "description")
        lists = {key: self.unique(self.text, 3) for key in ("sections", "must_include")}
        constraints = {
            "structure": {"sections": lists["sections"]} if self.flip() else {},
            "must_include": lists["must_include"],
            "formatting": {"forbid_tables": self.flip(), "allow_code_blocks": self.flip()},
        }
        kept = {key: value for key, value in constraints.items() if self.flip()}
        return data | {"constraints": kept} if self.flip() else data

    def protocol(self, name):
        checks = (
            {"type": "forbid_tool", "tool": self.text()},
            {"type": "forbid_block", "block_type": self.text()},
            {"preset": "no_browsing"},
            {"preset": "no_file_output"},
        )
        rules = [{"id": one, "check": self.pick(checks)} for one in self.names("rule")]
        return self.maybe({"id": name, "rules": rules}, "description")

    def workflow(self, name, responses, protocols):
        steps = [{"kind": "enforce_guideline"}]
        steps += [{"kind": "emit_response", "ref": one} for one in responses[:1]]
        steps += [{"kind": "enforce_protocol", "ref": one} for one in protocols]
        return self.maybe({"id": name, "steps": steps}, "description")

    def command(self, name, enums, states, responses, protocols):
        data = self.maybe({"name": name}, "description")
        kind = self.pick(("positional", "named"))
        given = {one: self.pick([*states.values(), "Int"]) for one in self.names("x")}
        if given or self.flip():
            items = [{"name": one, "type": self.type_text(of)} for one, of in given.items()]
            data["args"] = {"kind": kind, kind: items}
        listed = (("responses", responses), ("protocols", protocols), ("guidelines", ()))
        enable = {key: [one for one in some if self.flip()] for key, some in listed}
        sets = {}
        for number, (one, type_) in enumerate(given.items()):
            value = f"$arg{number}" if kind == "positional" else f"${one}"
            sets |= {state: value for state, of in states.items() if of == type_}
        settings = [{"name": state, "value": value} for state, value in sets.items()]
        data["effects"] = {"enable": enable, "set_state": settings}
        return data | ({"writes_state": list(sets)} if self.flip() else {})

    # ---- how it is written

    def body(self, data):
        lines = [*self.noise(), *self.mapping(data, 0), *self.noise()]
        return "".join(f"{line}\n" for line in lines)

    def noise(self):
        made = ("", self.pick(COMMENTS), f"   {self.pick(COMMENTS)}")
        return [self.pick(made) for _ in range(self.chance.randint(0, 2))] if self.flip(4) else []

    def mapping(self, data, indent):
        lines, pairs = [], list(data.items())
        self.chance.shuffle(pairs)
        for key, value in pairs:
            lines += self.noise()
            lines += self.entry(f"{' ' * indent}{self.scalar(key)}:", value, indent)
        return lines

    def entry(self, title, value, indent):
        """A value behind a title, or below it."""
        behind = f"  {self.pick(COMMENTS)}" if self.flip(5) else ""
        is_below = self.flip()
        if is_below and isinstance(value, str) and _can_be_block(value):
            sign = "|" if value.endswith("\n") else "|-"
            pad = " " * (indent + self.chance.randint(4, 6))  # deeper than noise
            body = [f"{pad}{line}" if line else "" for line in value.removesuffix("\n").split("\n")]
            return [f"{title} {sign}{behind}", *body]
        if is_below and isinstance(value, dict | list) and value:
            make = self.mapping if isinstance(value, dict) else self.items
            return [f"{title}{behind}", *make(value, indent + self.chance.randint(1, 4))]
        return [f"{title} {self.flow(value)}{behind}"]

    def items(self, items, indent):
        lines, pad = [], " " * indent
        for item in items:
            lines += self.noise()
            if isinstance(item, dict) and item and self.flip():
                first, *rest = self.mapping(item, indent + 2)
                is_key = first.strip() and not first.strip().startswith("#")
                lines += (
                    [f"{pad}- {first.strip(' ')}", *rest] if is_key else [f"{pad}-", first, *rest]
                )
            else:
                lines += self.entry(f"{pad}-", item, indent)
        return lines

    def flow(self, value):
        """A value in brackets, or a scalar; on one line."""
        gap = self.pick(("", " ", "  "))
        if isinstance(value, dict):
            pairs = [f"{self.scalar(key)}: {self.flow(item)}" for key, item in value.items()]
            return f"{{{gap}{f'{gap}, '.join(pairs)}{gap}}}"
        if isinstance(value, list):
            return f"[{gap}{f'{gap},{gap}'.join(map(self.flow, value))}{gap}]"
        return self.scalar(value)

    def scalar(self, value):
        if isinstance(value, bool):
            return self.pick((str(value), str(value).lower(), str(value).upper()))
        if isinstance(value, int):
            return hex(value) if value >= 0 and self.flip() else str(value)
        if _SAFE.fullmatch(value) and value not in _WORDS and self.flip():
            return value
        if value.isprintable() and value.isascii() and self.flip():
            return "'" + value.replace("'", "''") + "'"
        return f'"{"".join(map(_escaped, value))}"'


def _key(value, type_):
    """Equal for equal values: sets and maps have no order."""
    match type_:
        case ("Map", of):
            return frozenset((key, _key(item, of)) for key, item in value.items())
        case ("Set", of):
            return frozenset(_key(item, of) for item in value)
        case (_, of):
            return tuple(_key(item, of) for item in value)
    return value


def _can_be_block(text):
    lines = text.removesuffix("\n").split("\n")
    return "\n" in text and all(re.fullmatch(r"[a-z#-]( ?[a-z])*", line) for line in lines)


def _escaped(char):
    if char in '"\\':
        return f"\\{char}"
    return char if " " <= char <= "~" else f"\\U{ord(char):08x}"
