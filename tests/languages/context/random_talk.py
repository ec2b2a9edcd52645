"""Random things that happen under a random document, each with what must come of it."""

import json
import re
from dataclasses import dataclass, field
from itertools import count

from random_contracts import (
    FORBIDDEN_TOOLS,
    REQUIRED_TOOLS,
    called,
    evaluated,
    has_type,
    random_value,
)

from bylaw.model.event import Prompt, ToolAfter, ToolBefore, TurnEnd, TurnStart
from bylaw.model.vocabulary import CallStatus

_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_JSON_WORDS = ("true", "false", "null")
_NUMBERS = count()
WRONG = [1.5, None, "no such token", 7, True, [], {}, [[]], [1, "x"], {"k": None}, 2**53]
PROSE = [
    "hello",
    "go",
    "mode",
    "please /go()",
    "> /go()",
    "/ go()",
    "/usr/bin",
    "//",
    "go (x)",
    "()",
]
LINES = [
    "yes",
    "[[FILE]]",
    " [[FILE]] ",
    "x [[FILE]]",
    "[[PLAN]]",
    "[[plan]]",
    "[[Secret]]",
    "[[ARTIFACT]]",
    "## A",
    "A: x",
    "**B c**",
    "a.b",
    "axb",
    "```",
    "| a | b |\n| - | - |",
    "| a |",
]


@dataclass
class Line:
    """One line of a message: what it is, and the code of its error if it is one."""

    text: str
    call: tuple | None = None  # the command and its arguments
    code: str = ""
    suggestion: str = ""


@dataclass
class Told:
    """What must come of a message: calls that run, then perhaps one error; warnings on the way."""

    calls: list = field(default_factory=list)
    code: str = ""
    suggestions: list = field(default_factory=list)


def message(dice, made):
    """A message with what must come of it."""
    lines = [dice.pick(KINDS)(dice, made) for _ in range(dice.pick([1, 2, 3]))]
    told = Told()
    for line in lines:
        told.calls += [line.call] if line.call else []
        told.suggestions += [line.suggestion] if line.suggestion else []
        told.code = line.code
        if line.code:
            break
    newline = dice.pick(["\n", "\r\n", "\n\n"])
    return Prompt(text=newline.join(line.text for line in lines)), told


def good(dice, made):
    name = dice.pick(list(made.commands))
    command = made.commands[name]
    values = [random_value(dice, made, type_) for _, type_ in command.parameters]
    text = f"/{called(made.commands, name, dice)}({_written(dice, command, values)})"
    return Line(text + dice.pick(["", "  "]), (name, _arguments(command, values)))


def prose(dice, made):
    return Line(dice.pick(PROSE))


def near(dice, made):
    """A call that lacks its slash, stands too far right, or lacks its parentheses."""
    line = good(dice, made).text.rstrip()
    inside = line[line.index("(") + 1 : -1]
    without = f"{line[: line.index('(')]} {inside}".rstrip()
    text = dice.pick([line[1:], f" {line}", f"\t{line[1:]} ", without, f"  {without}"])
    meant = line
    if text.strip() == without:
        meant = f"{line[: line.index('(')]}({inside.strip()})"
    return Line(text, suggestion=meant)


def unknown(dice, made):
    name = dice.pick(["nope", "m.nope", "nope.go", "Mode", "state.mode"])
    return Line(f"/{name}()", code="UNKNOWN_ID")


def ambiguous(dice, made):
    bare = [one.partition(".")[2] for one in made.commands]
    several = [one for one in bare if bare.count(one) > 1]
    if not several:
        return unknown(dice, made)
    return Line(f"/{dice.pick(several)}({dice.pick(['', '1'])})", code="AMBIGUOUS_ID")


def malformed(dice, made):
    name = dice.pick(list(made.commands))
    text = dice.pick(
        [
            f"/{name}(",
            f"/{name}() x",
            f"/{name}(,)",
            f"/{name}(1 2)",
            f"/{name}('x')",
            f"/{name}(1,)",
            f"/{name}(a=1, 2)",
            f"/{name}(a0=1, a0=1)",
            f"/x.{name}()",
            f"/{name}.()",
            f'/{name}("\\ud800")',
            f"/{name}({'[' * 500})",
        ]
    )
    return Line(text, code="INVALID_COMMAND")


def misfit(dice, made):
    """The right form, and arguments that do not fit."""
    name = dice.pick(list(made.commands))
    command = made.commands[name]
    values = [random_value(dice, made, type_) for _, type_ in command.parameters]
    if not values or dice.pick([False, True]):
        written = _written(dice, command, values)
        return Line(f"/{name}({written}{', ' if written else ''}1)", code="INVALID_COMMAND")
    place = dice.pick(range(len(values)))
    type_ = command.parameters[place][1]
    wrong = [one for one in WRONG if not _fits(made, one, type_)]
    values[place] = dice.pick(wrong)
    text = f"/{name}({_written(dice, command, values, bare=False)})"
    return Line(text, code="INVALID_COMMAND")


def _fits(made, value, type_):
    return value != 2**53 and has_type(made, value, type_)


KINDS = [good, good, good, near, prose, unknown, ambiguous, malformed, misfit]


def _written(dice, command, values, *, bare=True):
    texts = [
        _as_word(dice, value, type_) if bare else json.dumps(value)
        for value, (_, type_) in zip(values, command.parameters, strict=True)
    ]
    if command.kind == "named":
        sign = dice.pick(["=", " = "])
        names = [name for name, _ in command.parameters]
        texts = [f"{name}{sign}{text}" for name, text in zip(names, texts, strict=True)]
        texts = texts[::-1] if dice.pick([False, True]) else texts
    return dice.pick([", ", ",", " , "]).join(texts)


def _as_word(dice, value, type_):
    is_enum = not isinstance(type_, str) and type_[0] == "enum"
    if is_enum and _BARE.fullmatch(value) and value not in _JSON_WORDS:
        return dice.pick([value, json.dumps(value)])
    return json.dumps(value, ensure_ascii=dice.pick([False, True]))


def _arguments(command, values):
    names = [name for name, _ in command.parameters]
    if command.kind == "positional":
        names = [f"arg{place}" for place in range(len(values))]
    return dict(zip(names, values, strict=True))


class Model:
    """What must hold, in a few lines of Python."""

    def __init__(self, made):
        self.made = made
        self.state = {name: default for name, (_, default) in made.states.items()}
        self.enabled = ((), (), ())
        self.response = ""
        self.called = set()
        self.in_turn = False

    def call(self, name, arguments):
        command = self.made.commands[name]
        before = self.state
        self.state = {
            **before,
            **{one: evaluated(tree, arguments, before) for one, tree in command.settings.items()},
        }
        self.enabled, self.response = command.enabled, command.response

    def checks(self):
        return [check for name in self.enabled[2] for check in self.made.protocols[name]]

    def refuses(self, event):
        """Whether something that happens breaks a rule."""
        match event:
            case ToolBefore():
                refused = ("forbid_tool", event.tool) in self.checks()
                # What may run is under way until its turn ends.
                self.called |= set() if refused else {event.tool}
                return refused
            case ToolAfter():
                self.called.add(event.tool)
            case TurnStart():
                self.called -= self.called if self.in_turn else set()
                self.in_turn = True
            case TurnEnd():
                refused = self._refuses_output(event)
                self.in_turn = False
                self.called.clear()
                return refused
        return False

    def _refuses_output(self, output):
        lines = [line.strip() for line in output.text.split("\n")]
        used = output.response or self.response
        if "." not in used:
            same = [one for one in self.made.responses if one.partition(".")[2] == used]
            used = same[0] if len(same) == 1 else used
        broken = {
            "require_tool": lambda about: about not in self.called,
            "forbid_block": lambda about: f"[[{about}]]" in lines,
            "require_block": lambda about: f"[[{about}]]" not in lines,
            "require_response_id": lambda about: used != about,
            "forbid_tool": lambda _: False,
        }
        if any(broken[type_](about) for type_, about in self.checks()):
            return True
        return used in self.enabled[0] and self._breaks(output.text, self.made.responses[used])

    def _breaks(self, text, constraints):
        lines = text.split("\n")
        sections = constraints.get("structure", {}).get("sections", [])
        forms = ("## {}", "{}: x", "**{}**", "{}")
        found = {name for name in sections for form in forms if form.format(name) in lines}
        plain = "formatting" in constraints
        return (
            any(one not in text for one in constraints.get("must_include", []))
            or len(found) < len(sections)
            or (plain and ("```" in lines or "| - | - |" in lines))
        )


def other(dice, made):
    """Anything that is no message of the user."""
    tools = [*FORBIDDEN_TOOLS, *REQUIRED_TOOLS, "grep", "container.download"]
    text = "\n".join(dice.pick(LINES) for _ in range(dice.pick([2, 1, 3, 4, 0])))
    tool = dice.pick(tools)
    return dice.pick(
        [
            ToolBefore(tool=tool, call=f"before-{next(_NUMBERS)}"),
            ToolAfter(
                tool=tool, call=f"after-{next(_NUMBERS)}", status=CallStatus.OK, result="/go()"
            ),
            TurnStart(),
            TurnEnd(text=text, response=dice.pick(["", *made.responses, "r0", "nope"])),
        ]
    )
