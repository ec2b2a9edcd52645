"""Random valid documents, with every name that means something known: what calls do is computed.

Names are few, so modules share them. References are qualified, or bare where only one is meant.
Tools and blocks that are forbidden are never the required ones, so nothing conflicts.
"""

import json
from dataclasses import dataclass, field

from context_sessions import block, module

MODULES = ["m", "n", "work-2"]
TOKENS = [
    "plan",
    "test",
    "in review",
    "a`b",
    "| x |",
    "true",
    "null",
    "2nd",
    "",
    "```",
    "x\ny",
    "é",
]
TEXTS = ["", "a", "on $5: $ 5", "`x` | y |", "né\tn\n", "}{", "# x", "true"]
NAMES = ["mode", "text", "x_1", "null"]
FORBIDDEN_TOOLS, REQUIRED_TOOLS = ["web.run", "shell"], ["pytest", "lint"]
FORBIDDEN_BLOCKS, REQUIRED_BLOCKS = ["FILE", "Secret"], ["PLAN"]
PRESETS = {
    "no_browsing": [("forbid_tool", "web.run")],
    "no_file_output": [
        *(("forbid_block", one) for one in ("FILE", "ARTIFACT", "DOWNLOAD")),
        *(("forbid_tool", one) for one in ("python_user_visible.exec", "container.download")),
    ],
}
FIELDS = {
    "forbid_tool": "tool",
    "require_tool": "tool",
    "forbid_block": "block_type",
    "require_block": "block_type",
    "require_response_id": "response_id",
}


@dataclass
class Made:
    """A document as it was drawn; everything by its qualified name."""

    enums: dict = field(default_factory=dict)  # tokens
    states: dict = field(default_factory=dict)  # (type, default)
    responses: dict = field(default_factory=dict)  # constraints
    protocols: dict = field(default_factory=dict)  # pairs of check and what it is about
    workflows: dict = field(default_factory=dict)  # the response that it emits first
    commands: dict = field(default_factory=dict)
    blocks: dict = field(default_factory=dict)  # by module

    @property
    def text(self):
        return "\nprose\n".join(module(*inner, name=name) for name, inner in self.blocks.items())


@dataclass
class Command:
    """A command as it was drawn: parameters with types, values as trees, what it enables."""

    kind: str
    parameters: list
    settings: dict
    enabled: tuple  # responses, workflows, protocols
    response: str  # the one that it selects


def made(dice):
    """Draw a document."""
    found = Made()
    names = [MODULES[n] for n in range(dice.pick([1, 2, 3]))]
    found.blocks = {name: [] for name in names}
    for draw, most in ((_enum, 2), (_state, 4), (_response, 2), (_protocol, 2), (_workflow, 2)):
        for name in names:
            for number in range(dice.pick(range(most, -1, -1))):
                draw(dice, found, name, number)
    for name in names:
        for number in range(dice.pick([3, 1, 4])):
            _command(dice, found, name, number)
    return found


def called(table, qualified, dice):
    """A reference: always right with its module, also without where no other has the name."""
    bare = qualified.partition(".")[2]
    is_unique = sum(one.partition(".")[2] == bare for one in table) == 1
    return dice.pick([bare, qualified]) if is_unique else qualified


def _enum(dice, made, module_name, number):
    name, tokens = f"E{number}", []
    for _ in range(dice.pick([2, 1, 3, 6])):
        tokens += [token for token in [dice.pick(TOKENS)] if token not in tokens]
    made.enums[f"{module_name}.{name}"] = tokens
    made.blocks[module_name].append(_block("ENUM", name=name, values=tokens))


def _state(dice, made, module_name, number):
    type_ = random_type(dice, made)
    name = NAMES[number]
    written = {"name": name, "type": type_text(type_)}
    default = implicit(type_)
    if default is None or dice.pick([True, False]):
        default = written["default"] = random_value(dice, made, type_)
    made.states[f"{module_name}.{name}"] = (type_, default)
    made.blocks[module_name].append(_block("STATE", **written))


def _response(dice, made, module_name, number):
    constraints = {}
    if dice.pick([True, False]):
        constraints["must_include"] = [dice.pick(["yes", "## A", "|"])]
    if dice.pick([False, True]):
        constraints["structure"] = {"sections": [dice.pick(["A", "B c", "a.b"])]}
    if dice.pick([False, True]):
        constraints["formatting"] = {"allow_code_blocks": False, "forbid_tables": True}
    made.responses[f"{module_name}.r{number}"] = constraints
    item = {"id": f"r{number}", "constraints": constraints} if constraints else {"id": f"r{number}"}
    made.blocks[module_name].append(_block("RESPONSE", responses=[item]))


def _protocol(dice, made, module_name, number):
    rules, checks = [], []
    for place in range(dice.pick([1, 2, 3])):
        check, concrete = _check(dice, made)
        rules.append({"id": f"rule{place}", "check": check})
        checks += concrete
    made.protocols[f"{module_name}.p{number}"] = checks
    body = [{"id": f"p{number}", "rules": rules}]
    made.blocks[module_name].append(_block("PROTOCOL", protocols=body))


def _check(dice, made):
    if dice.pick([False, False, True]):
        preset = dice.pick(list(PRESETS))
        return {"preset": preset}, PRESETS[preset]
    type_ = dice.pick([one for one in FIELDS if made.responses or one != "require_response_id"])
    about = {
        "forbid_tool": lambda: dice.pick(FORBIDDEN_TOOLS),
        "require_tool": lambda: dice.pick(REQUIRED_TOOLS),
        "forbid_block": lambda: dice.pick(FORBIDDEN_BLOCKS),
        "require_block": lambda: dice.pick(REQUIRED_BLOCKS),
        # Two different ones could not be enabled together.
        "require_response_id": lambda: next(iter(made.responses)),
    }[type_]()
    return {"type": type_, FIELDS[type_]: about}, [(type_, about)]


def _workflow(dice, made, module_name, number):
    steps, emits, refs = [{"kind": "enforce_guideline"}], "", []
    if made.responses and dice.pick([True, False]):
        emits = dice.pick(list(made.responses))
        steps.append({"kind": "emit_response", "ref": called(made.responses, emits, _QUALIFIED)})
        refs.append(("responses", emits))
    if made.protocols and dice.pick([True, False]):
        ref = dice.pick(list(made.protocols))
        steps.append({"kind": "enforce_protocol", "ref": ref})
        refs.append(("protocols", ref))
    made.workflows[f"{module_name}.w{number}"] = (emits, refs)
    body = [{"id": f"w{number}", "steps": steps}]
    made.blocks[module_name].append(_block("WORKFLOW", workflows=body))


class _Qualified:
    def pick(self, options):
        return options[-1]


_QUALIFIED = _Qualified()


def _command(dice, made, module_name, number):
    name = ["mode", "null", "guard", "go"][number]
    kind = dice.pick(["positional", "named"])
    parameters = [
        (dice.pick(["a", "value", "b"]) + str(place), _parameter_type(dice, made))
        for place in range(dice.pick([1, 0, 2, 3]))
    ]
    settings = {}
    for state in made.states:
        if dice.pick([True, False, False]):
            value = _value_tree(dice, made, made.states[state][0], kind, parameters)
            if value is not None:
                settings[state] = value
    enabled = _enabled(dice, made)
    command = Command(kind, parameters, settings, enabled, _selected(made, enabled))
    made.commands[f"{module_name}.{name}"] = command
    written = [{"name": one, "type": type_text(type_)} for one, type_ in parameters]
    body = {"name": name, "effects": _effects(made, command, module_name, dice)}
    if parameters or dice.pick([False, True]):
        body["args"] = {"kind": kind, kind: written}
    made.blocks[module_name].append(_block("COMMAND", **body))


def _effects(made, command, module_name, dice):
    def local(table, names):
        """A bare name is one of the own module."""
        return [
            called(table, one, dice) if one.startswith(f"{module_name}.") else one for one in names
        ]

    responses, workflows, protocols = command.enabled
    effects = {
        "enable": {
            "responses": local(made.responses, responses),
            "workflows": local(made.workflows, workflows),
            "protocols": local(made.protocols, protocols),
        }
    }
    if command.settings:
        targets = local(made.states, command.settings)
        trees = command.settings.values()
        effects["set_state"] = [
            {"name": target, "value": value_text(tree)}
            for target, tree in zip(targets, trees, strict=True)
        ]
    return effects


def _enabled(dice, made):
    if dice.pick([False, False, True]):
        return (), (), ()
    workflows, responses, protocols = [], [], []
    for name, (emits, refs) in made.workflows.items():
        if dice.pick([False, True]) and not (
            emits and any(made.workflows[w][0] for w in workflows)
        ):
            workflows.append(name)
            responses += [ref for kind, ref in refs if kind == "responses"]
            protocols += [ref for kind, ref in refs if kind == "protocols"]
    responses += [one for one in made.responses if dice.pick([False, True])]
    protocols += [one for one in made.protocols if dice.pick([True, False])]
    return tuple(dict.fromkeys(responses)), tuple(workflows), tuple(dict.fromkeys(protocols))


def _selected(made, enabled):
    responses, workflows, _ = enabled
    emitted = [made.workflows[one][0] for one in workflows if made.workflows[one][0]]
    if emitted:
        return emitted[0]
    return responses[0] if len(responses) == 1 else ""


def _parameter_type(dice, made):
    """Often that of a variable, so that it can be set."""
    types = [type_ for type_, _ in made.states.values()]
    return dice.pick(types) if types and dice.pick([True, True, False]) else random_type(dice, made)


# Types are names, enums by ("enum", name), containers by (name, type).


def random_type(dice, made, depth=0):
    choices = ["Bool", "Int", "String"]
    choices += [("enum", name) for name in made.enums]
    if depth < 3:
        choices += ["List", "Set", "Map"]
    found = dice.pick(choices)
    return (found, random_type(dice, made, depth + 1)) if found in ("List", "Set", "Map") else found


def type_text(type_):
    if isinstance(type_, str):
        return type_
    name, of = type_
    if name == "enum":
        return of
    return f"Map<String, {type_text(of)}>" if name == "Map" else f"{name}<{type_text(of)}>"


def implicit(type_):
    """The value of a variable that nobody gave one; an enum has none."""
    if isinstance(type_, str):
        return {"Bool": False, "Int": 0, "String": ""}[type_]
    return {"List": [], "Set": [], "Map": {}, "enum": None}[type_[0]]


def random_value(dice, made, type_):
    if type_ == "Bool":
        return dice.pick([False, True])
    if type_ == "Int":
        return dice.pick([0, 1, -7, 2**53 - 1, -(2**53) + 1])
    if type_ == "String":
        return dice.pick([*TEXTS, "${$arg0}", "$state.mode"])
    name, of = type_
    if name == "enum":
        return dice.pick(made.enums[of])
    items = [random_value(dice, made, of) for _ in range(dice.pick([1, 0, 2, 3]))]
    if name == "Map":
        return {f"k{n} `": item for n, item in enumerate(items)}
    return items if name == "List" else unique(items, of)


def unique(items, of):
    """Without what is the same in a set."""
    seen, kept = set(), []
    for item in items:
        key = canonical(item, of)
        kept += [] if key in seen else [item]
        seen.add(key)
    return kept


def canonical(value, type_):
    """Equal for values that are the same; sets have no order."""
    if isinstance(type_, str) or type_[0] == "enum":
        return json.dumps(value)
    name, of = type_
    if name == "Map":
        return json.dumps({key: canonical(one, of) for key, one in value.items()}, sort_keys=True)
    inner = [canonical(one, of) for one in value]
    return json.dumps(sorted(inner) if name == "Set" else inner)


def has_type(made, value, type_):
    """Whether a value is of a type, told independently of the engine."""
    if type_ == "Int":
        return type(value) is int
    if isinstance(type_, str):
        return type(value) is {"Bool": bool, "String": str}[type_]
    name, of = type_
    if name == "enum":
        return value in made.enums[of]
    if name == "Map":
        return type(value) is dict and all(has_type(made, one, of) for one in value.values())
    if type(value) is not list or not all(has_type(made, one, of) for one in value):
        return False
    return name == "List" or len(unique(value, of)) == len(value)


# Values of set_state: ("literal", value), ("arg", place, name), ("state", name), ("text", parts).


def _value_tree(dice, made, type_, kind, parameters):
    refs = _refs(made, kind, parameters)
    same = [ref for ref, found in refs if found == type_]
    is_plain = isinstance(type_, str) or type_[0] == "enum"
    choices = [*same, *same]
    if is_plain:
        value = random_value(dice, made, type_)
        choices += [("literal", value)] if _is_literal(value) else []
    if type_ == "String":
        plain = [ref for ref, found in refs if isinstance(found, str) or found[0] == "enum"]
        parts = [dice.pick([*TEXTS, *plain]) for _ in range(dice.pick([2, 1, 3, 4]))]
        # A text that begins like a reference is one.
        choices += [("text", ["=", *parts])] * 2
    return dice.pick(choices) if choices else None


def _is_literal(value):
    return not isinstance(value, str) or not ("${" in value or value[:1] == "$")


def _refs(made, kind, parameters):
    for place, (name, type_) in enumerate(parameters):
        yield ("arg", f"arg{place}" if kind == "positional" else name), type_
    for name, (type_, _) in made.states.items():
        yield ("state", name), type_


def value_text(tree):
    """A value as it is written in YAML."""
    kind, what = tree
    if kind == "literal":
        return what
    if kind == "text":
        return "".join(
            one if isinstance(one, str) else "${" + value_text(one) + "}" for one in what
        )
    return f"$state.{what}" if kind == "state" else f"${what}"


def evaluated(tree, arguments, state):
    """What a value is, given the arguments and what was before the call."""
    kind, what = tree
    if kind == "literal":
        return what
    if kind == "arg":
        return arguments[what]
    if kind == "state":
        return state[what]
    return "".join(
        one if isinstance(one, str) else _as_text(evaluated(one, arguments, state)) for one in what
    )


def _as_text(value):
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)


def _block(kind, **keys):
    """A block whose keys have JSON, which is YAML, too."""
    lines = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in keys.items()]
    return block(kind, "\n".join(lines))
