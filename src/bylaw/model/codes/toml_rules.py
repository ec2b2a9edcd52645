"""Codes of TOML rules: what is wrong with a rule file."""

from bylaw.model.codes import Code, Example

_CONDITION = '[condition]\nexpression = "context.turn.number > 0"\n'
_ACTION = '[action]\ntype = "log"\n'


def _rule(rule: str = "", condition: str = _CONDITION, action: str = _ACTION) -> Example:
    given = 'id = "a-rule"\ntrigger = "on_turn_start"\n' if 'id = "' not in rule else ""
    return Example("toml-rule", f"[rule]\n{given}{rule}\n{condition}\n{action}")


BAD_RULE_ID = Code(
    "bad-rule-id",
    "the id of a rule has other characters than a to z, 0 to 9 and `-`",
    "Ids stand in records, in commands and in file names; they must be plain everywhere.",
    "Write the id in kebab-case, such as `token-budget`.",
    _rule('id = "Token_Budget"\ntrigger = "on_turn_start"\n'),
)
CONDITION_COUNT = Code(
    "condition-count",
    "a rule does not have exactly one of `expression` and `script`",
    "With none the rule would have no condition, with both it is not said which one counts.",
    "Keep one of them in `[condition]`.",
    _rule(condition='[condition]\nexpression = "True"\nscript = "a.lua"\n'),
)
PRIORITY_RANGE = Code(
    "priority-range",
    "the priority of a rule is not between 1 and 1000",
    "Rules of one trigger are ordered by it, the higher one first.",
    "Write a whole number from 1 to 1000; 100 is the default.",
    _rule("priority = 0\n"),
)
MISSING_ACTION = Code(
    "missing-action",
    "a rule has no `[action]`",
    "A rule that does nothing when its condition holds is a mistake.",
    "Add an `[action]` with a `type`.",
    _rule(action=""),
)
MISSING_ACTION_FIELD = Code(
    "missing-action-field",
    "an action lacks a field that its type needs",
    "Without it there is nothing to do: no text to tell, no key to set, no event to emit.",
    "Add the field that the message names; it must not be empty.",
    _rule(action='[action]\ntype = "notify_self"\n'),
)
MISSING_KEY = Code(
    "missing-key",
    "a rule file lacks a section or key that every rule needs",
    "`[rule]` with `id` and `trigger`, and the `type` of the action, have no default.",
    "Add it.",
    Example("toml-rule", f'[rule]\ntrigger = "on_turn_start"\n\n{_CONDITION}\n{_ACTION}'),
)
UNKNOWN_KEY = Code(
    "unknown-key",
    "a rule file has a section or key that means nothing",
    "A misspelt `enabled` that is passed over would leave the rule on.",
    "Use a known key; the help line names the nearest one.",
    _rule("prioirty = 5\n"),
)
WRONG_VALUE = Code(
    "wrong-value",
    "a key of a rule file has a value of the wrong type",
    'Values are not converted: `"yes"` is a text and no switch.',
    "Write a value of the type that the help line names.",
    _rule('enabled = "yes"\n'),
)
NOT_A_CHOICE = Code(
    "not-a-choice",
    "a key of a rule file has a value that is not among the possible ones",
    "The lists of triggers, actions, categories, levels and times of delivery are closed.",
    "Use one of the values that the help line lists, in the same spelling.",
    Example(
        "toml-rule", f'[rule]\nid = "a-rule"\ntrigger = "turn_start"\n\n{_CONDITION}\n{_ACTION}'
    ),
)
BAD_VERSION = Code(
    "bad-version",
    "the version of a rule is not a semantic version",
    "It has three numbers and may have more behind them, as semver 2.0.0 says.",
    "Write a version such as `1.0.0` or `2.1.0-rc.1`.",
    _rule('version = "1.0"\n'),
)
FOREIGN_ACTION_FIELD = Code(
    "foreign-action-field",
    "an action has a field of another type of action",
    "A `deliver_at` on a `log` would have no effect, without a word.",
    "Delete the field, or change the type of the action.",
    _rule(action='[action]\ntype = "log"\ndeliver_at = "immediate"\n'),
)
DUPLICATE_RULE_ID = Code(
    "duplicate-rule-id",
    "two rule files have the same id",
    "Nothing says which one counts, so none of the two is in force.",
    "Give one of them another id.",
    Example(
        "toml-rules-twice",
        f'[rule]\nid = "a-rule"\ntrigger = "on_turn_start"\n\n{_CONDITION}\n{_ACTION}',
    ),
)
BAD_SCRIPT = Code(
    "bad-script",
    "the script of a rule cannot be used",
    "It must be a Lua file below the folder of the rule, so that a rule reaches no other files.",
    "Put the script there, and name it by its path from the rule file, such as `scripts/a.lua`.",
    _rule(condition='[condition]\nscript = "scripts/missing.lua"\n'),
)
LUA_SYNTAX = Code(
    "lua-syntax",
    "the script of a rule is not Lua",
    "A script that cannot be read would fail at every event.",
    "Mend the script at the line that the message names.",
    Example("toml-rule-bad-lua", "return context.turn.number >\n"),
)
NO_LUA = Code(
    "no-lua",
    "a rule has a script, and Lua is not installed",
    "A rule that can never fire must not look as if it were in force.",
    "Install `bylaw[lua]`, or write the condition as an `expression`.",
    Example("toml-rule-without-lua", "return true\n"),
)
SCRIPT_FAILED = Code(
    "script-failed",
    "the script of a rule failed, or returned something else than true, false or nil",
    "The rule does not fire, and other rules are not touched. Too many steps and too much memory "
    "are errors of the script, too.",
    "Mend the script; only `true` fires the rule.",
    Example("toml-script", "return context.turn.nope.deeper\n"),
)
SCRIPT_KILLED = Code(
    "script-killed",
    "the script of a rule took too long, or its process died",
    "Nobody waits longer than a second for a script. Then the rule does not fire, and "
    "the next script gets a new process. Too many steps and too much memory are `script-failed`.",
    "Let the script do less; it runs at every event of its trigger.",
    Example("toml-script", "local s = ('x'):rep(2000000)\nwhile true do local t = s:upper() end\n"),
)
CORE_STAYS_ON = Code(
    "core-stays-on",
    "a rule is core and disabled",
    "A core rule cannot be disabled, so it is in force.",
    "Delete `enabled = false` or `core = true`.",
    _rule("core = true\nenabled = false\n"),
)
EMPTY_NAME = Code(
    "empty-name",
    "the name of a rule is empty",
    "It counts as absent: the id is shown instead.",
    "Write a name, or delete the key.",
    _rule('name = ""\n'),
)
RULE_FILE_NAME = Code(
    "rule-file-name",
    "the name of a rule file is not the id of its rule in kebab-case",
    "Who looks for a rule looks for a file of its name.",
    "Rename the file to the id with `.toml` behind it.",
    Example(
        "toml-rule-named",
        f'[rule]\nid = "a-rule"\ntrigger = "on_turn_start"\n\n{_CONDITION}\n{_ACTION}',
    ),
)
EMPTY_NOTICE = Code(
    "empty-notice",
    "the message of a notice came out empty",
    "A template may print nothing. An empty message helps nobody, so nothing is told.",
    "Put the question whether there is something to tell into the condition.",
    Example(
        "toml-action",
        f'[rule]\nid = "a-rule"\ntrigger = "on_turn_start"\n\n{_CONDITION}\n[action]\n'
        'type = "notify_self"\nmessage = "{% if context.turn.number > 9 %}late{% endif %}"\n',
    ),
)
