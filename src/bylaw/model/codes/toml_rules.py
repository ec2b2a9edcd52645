"""Codes for TOML, and for TOML rules."""

from bylaw.model.codes import Code, Example

_CONDITION = '[condition]\nexpression = "context.turn.number > 0"\n'
_ACTION = '[action]\ntype = "log"\n'


def _rule(rule: str = "", condition: str = _CONDITION, action: str = _ACTION) -> Example:
    given = 'id = "a-rule"\ntrigger = "on_turn_start"\n' if 'id = "' not in rule else ""
    return Example("toml-rule", f"[rule]\n{given}{rule}\n{condition}\n{action}")


BAD_RULE_ID = Code(
    "bad-rule-id",
    "the id of a rule has characters other than a to z, 0 to 9 and `-`",
    "Ids are used in records, in commands and in file names, so they must be plain.",
    "Write the id in kebab-case, such as `token-budget`.",
    _rule('id = "Token_Budget"\ntrigger = "on_turn_start"\n'),
)
CONDITION_COUNT = Code(
    "condition-count",
    "a rule does not have exactly one of `expression` and `script`",
    "Without either, the rule would have no condition. With both, it would be unclear which one "
    "applies.",
    "Keep one of them in `[condition]`.",
    _rule(condition='[condition]\nexpression = "True"\nscript = "a.lua"\n'),
)
PRIORITY_RANGE = Code(
    "priority-range",
    "the priority of a rule is not between 1 and 1000",
    "It orders the rules of one trigger: higher numbers come first.",
    "Write a whole number from 1 to 1000; 100 is the default.",
    _rule("priority = 0\n"),
)
MISSING_ACTION = Code(
    "missing-action",
    "a rule has no `[action]`",
    "A rule that does nothing when its condition is true is a mistake.",
    "Add an `[action]` with a `type`.",
    _rule(action=""),
)
MISSING_ACTION_FIELD = Code(
    "missing-action-field",
    "an action lacks a field that its type needs",
    "Without it the action can do nothing: there is no text to send, no key to set, no event to "
    "emit.",
    "Add the field that the message names. It must not be empty.",
    _rule(action='[action]\ntype = "notify_self"\n'),
)
MISSING_KEY = Code(
    "missing-key",
    "a rule file lacks a section or key that every rule needs",
    "`[rule]` with `id` and `trigger`, and the `type` of the action, have no default.",
    "Add the missing section or key.",
    Example("toml-rule", f'[rule]\ntrigger = "on_turn_start"\n\n{_CONDITION}\n{_ACTION}'),
)
UNKNOWN_KEY = Code(
    "unknown-key",
    "a rule file has an unknown section or key",
    "If Bylaw ignored a misspelt `enabled`, the rule would stay enabled.",
    "Use a known key. The help line names the nearest one.",
    _rule("prioirty = 5\n"),
)
WRONG_VALUE = Code(
    "wrong-value",
    "a key of a rule file has a value of the wrong type",
    'Values are not converted: `"yes"` is a text, not a boolean.',
    "Write a value of the type that the help line names.",
    _rule('enabled = "yes"\n'),
)
NOT_A_CHOICE = Code(
    "not-a-choice",
    "a key of a rule file has a value that is not one of the allowed ones",
    "The lists of triggers, actions, categories, levels and times of delivery are closed.",
    "Use one of the values that the help line lists, in the same spelling.",
    Example(
        "toml-rule", f'[rule]\nid = "a-rule"\ntrigger = "turn_start"\n\n{_CONDITION}\n{_ACTION}'
    ),
)
BAD_VERSION = Code(
    "bad-version",
    "the version of a rule is not a semantic version",
    "It has three numbers, and optional parts after them, as semver 2.0.0 defines.",
    "Write a version such as `1.0.0` or `2.1.0-rc.1`.",
    _rule('version = "1.0"\n'),
)
FOREIGN_ACTION_FIELD = Code(
    "foreign-action-field",
    "an action has a field that belongs to another type of action",
    "For example, a `deliver_at` on a `log` would silently have no effect.",
    "Delete the field, or change the type of the action.",
    _rule(action='[action]\ntype = "log"\ndeliver_at = "immediate"\n'),
)
DUPLICATE_RULE_ID = Code(
    "duplicate-rule-id",
    "two rule files have the same id",
    "It would be unclear which one applies, so neither is active.",
    "Give one of them another id.",
    Example(
        "toml-rules-twice",
        f'[rule]\nid = "a-rule"\ntrigger = "on_turn_start"\n\n{_CONDITION}\n{_ACTION}',
    ),
)
BAD_SCRIPT = Code(
    "bad-script",
    "the script of a rule cannot be used",
    "It must be a Lua file below the folder of the rule, so that a rule cannot read other files.",
    "Move the script there, and name it by its path from the rule file, such as `scripts/a.lua`.",
    _rule(condition='[condition]\nscript = "scripts/missing.lua"\n'),
)
LUA_SYNTAX = Code(
    "lua-syntax",
    "the script of a rule is not Lua",
    "A script that cannot be parsed would fail at every event.",
    "Fix the script at the line that the message names.",
    Example("toml-rule-bad-lua", "return context.turn.number >\n"),
)
NO_LUA = Code(
    "no-lua",
    "a rule has a script, but Lua is not installed",
    "A rule that can never fire must not look active.",
    "Install `bylaw[lua]`, or write the condition as an `expression`.",
    Example("toml-rule-without-lua", "return true\n"),
)
SCRIPT_FAILED = Code(
    "script-failed",
    "the script of a rule failed, or returned something other than true, false or nil",
    "The rule does not fire, and other rules are not affected. Exceeding the limits on steps or "
    "memory is also an error of the script.",
    "Fix the script. Only `true` fires the rule.",
    Example("toml-script", "return context.turn.nope.deeper\n"),
)
SCRIPT_KILLED = Code(
    "script-killed",
    "the script of a rule took too long, or its process died",
    "Bylaw waits at most one second for a script. After that, the rule does not fire, and the "
    "next script gets a new process. Exceeding the limits on steps or memory is `script-failed`.",
    "Make the script do less. It runs at every event of its trigger.",
    Example("toml-script", "local s = ('x'):rep(2000000)\nwhile true do local t = s:upper() end\n"),
)
CORE_STAYS_ON = Code(
    "core-stays-on",
    "a rule is both core and disabled",
    "A core rule cannot be disabled, so it is active.",
    "Delete `enabled = false` or `core = true`.",
    _rule("core = true\nenabled = false\n"),
)
EMPTY_NAME = Code(
    "empty-name",
    "the name of a rule is empty",
    "An empty name counts as missing: the id is shown instead.",
    "Write a name, or delete the key.",
    _rule('name = ""\n'),
)
RULE_FILE_NAME = Code(
    "rule-file-name",
    "the name of a rule file is not the id of its rule in kebab-case",
    "People look for a rule in the file that has its name.",
    "Rename the file to the id with the ending `.toml`.",
    Example(
        "toml-rule-named",
        f'[rule]\nid = "a-rule"\ntrigger = "on_turn_start"\n\n{_CONDITION}\n{_ACTION}',
    ),
)
EMPTY_NOTICE = Code(
    "empty-notice",
    "the message of a notice is empty after rendering",
    "A template may print nothing. An empty message has no use, so it is not sent.",
    "Move the test for whether to send a message into the condition.",
    Example(
        "toml-action",
        f'[rule]\nid = "a-rule"\ntrigger = "on_turn_start"\n\n{_CONDITION}\n[action]\n'
        'type = "notify_self"\nmessage = "{% if context.turn.number > 9 %}late{% endif %}"\n',
    ),
)


TOML_SYNTAX = Code(
    "toml-syntax",
    "the text is not TOML",
    "A file is read completely before any part of it takes effect.",
    "Fix the file at the underlined place.",
    Example("toml", "[rule\nid = 5\n"),
)
TOML_TOO_LARGE = Code(
    "toml-too-large",
    "the text is larger than the limit for settings and rules",
    "A limit on the text limits the work of reading it.",
    "Split the file.",
    Example("toml", "a = 1\n" * 60_000),
)
