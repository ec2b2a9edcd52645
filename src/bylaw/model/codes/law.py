"""Codes for RULE_DSL: files, and actions of matching rules that could not be carried out."""

from bylaw.model.codes import Code, Example

_BUS = {
    "rule_id": "R-LINT",
    "priority": "10",
    "trigger": "{kind: bus_input, match: {command_types: [exec]}}",
    "guards": "{category_in: [A]}",
    "actions": '[{type: write_bus, channel: output, template: "done {{msg_id}}"}]',
}
_WRITE_BUS = "{type: write_bus, channel: output, template: done}"


def _rule(**changed: str) -> Example:
    """Return one rule with some keys changed. An empty text removes a key."""
    keys = {**_BUS, **changed}
    text = "".join(f"{key}: {value}\n" for key, value in keys.items() if value)
    return Example("law", f'dsl_version: "0.1"\n{text}')


def _command(cmd: str) -> Example:
    return _rule(actions=f"\n  - {{type: run_cmd, cmd: {cmd}, cwd: src, timeout_sec: 60}}")


def _two(*rules: str) -> Example:
    return Example("law", "".join(('dsl_version: "0.1"\nrules:\n', *rules)))


def _one_of_two(rule_id: str, priority: int, phases: str) -> str:
    return (
        f"  - rule_id: {rule_id}\n    priority: {priority}\n"
        "    trigger: {kind: bus_input}\n"
        f"    guards: {{phase_in: {phases}, category_in: [A]}}\n"
        f"    actions: [{_WRITE_BUS}]\n"
    )


LAW_VERSION = Code(
    "law-version",
    'the `dsl_version` of a RULE_DSL file is not the text `"0.1"`',
    "Rules of another version may mean something else. Without quotes YAML reads a number, and "
    "0.1 and 0.10 are the same number.",
    'Write `dsl_version: "0.1"`, with the quotes.',
    Example("law", "dsl_version: 0.1\nrules: []\n"),
)
LAW_UNKNOWN_KEY = Code(
    "law-unknown-key",
    "a RULE_DSL file has an unknown key",
    "If Bylaw ignored a misspelt guard, the rule would apply to more than intended.",
    "Use a known key. The help line names the nearest one.",
    _rule(guards="", gaurds="{category_in: [A]}"),
)
LAW_MISSING_KEY = Code(
    "law-missing-key",
    "a rule or an action lacks a key that it needs",
    "`rule_id`, `priority`, `trigger` and `actions` have no default. The same is true of the keys "
    "that an action needs.",
    "Add the key that the message names.",
    _rule(priority=""),
)
LAW_WRONG_VALUE = Code(
    "law-wrong-value",
    "a key of a RULE_DSL file has a value of the wrong type, or out of its range",
    'Values are not converted: `"10"` is a text, not a number, and `"yes"` is a text, not a '
    "boolean.",
    "Write a value as the message says.",
    _rule(priority='"10"'),
)
LAW_NOT_A_CHOICE = Code(
    "law-not-a-choice",
    "a key of a RULE_DSL file has a value that is not one of the allowed ones",
    "The lists of triggers, events, commands, categories, modes, authorities, actions and channels "
    "are closed.",
    "Use one of the values that the help line names, in the same spelling.",
    _rule(trigger="{kind: cron}"),
)
LAW_EMPTY_LIST = Code(
    "law-empty-list",
    "a list of a rule is empty",
    "A missing list means any, an empty list would mean never. One of the two is probably a "
    "mistake. A rule without actions would leave no evidence.",
    "List what the rule is for, or delete the key.",
    _rule(trigger="{kind: bus_input, match: {command_types: []}}"),
)
LAW_RULE_ID = Code(
    "law-rule-id",
    "the `rule_id` of a rule is empty, too long, or has invisible characters",
    "The id is used in records, in the names of evidence files, and by people.",
    "Write an id of 1 to 200 visible characters, such as `R-LINT`.",
    _rule(rule_id='""'),
)
LAW_DUPLICATE_RULE_ID = Code(
    "law-duplicate-rule-id",
    "two rules have the same `rule_id`",
    "It would be unclear which one applies, so no file that contains one of them is active.",
    "Give each rule an id of its own.",
    _two(_one_of_two("R-LINT", 10, "[1]"), _one_of_two("R-LINT", 20, "[2]")),
)
LAW_WRONG_TRIGGER = Code(
    "law-wrong-trigger",
    "a rule has a key that belongs to the other kind of trigger",
    "A file event has no category, approval or command. A message has no event type. A guard on a "
    "value that does not exist would always or never hold.",
    "Delete the key, or change the `kind` of the trigger.",
    _rule(trigger="{kind: bus_input, match: {event_types: [modified]}}"),
)
LAW_PATH_VARIABLE = Code(
    "law-path-variable",
    "a path pattern of a rule has a variable",
    "The paths of a rule only say which files it is for. They capture nothing.",
    "Write `*` for a part of a name, `**/` for folders, `{js,ts}` for alternatives.",
    _rule(trigger='{kind: bus_input, match: {paths: ["src/{name}.ts"]}}'),
)
LAW_AUTHORITIES = Code(
    "law-authorities",
    "an approval names fewer authorities than its mode needs",
    "`single` needs one of the listed authorities, `dual` needs two different ones. With fewer, "
    "the rule could never be approved.",
    "List `antigravity`, `human` or both.",
    _rule(guards="{category_in: [C], approval: {mode: dual, authorities: [human]}}"),
)
LAW_APPROVAL_NEEDED = Code(
    "law-approval-needed",
    "a rule runs a command for category B or C without naming an approval",
    "B and C never run without approval, whatever the `mode` says: such a message is held.",
    "Write `mode: single` or `dual` with `authorities`, or remove B and C from `category_in`.",
    _rule(
        guards="{category_in: [A, B]}",
        actions="\n  - {type: run_cmd, cmd: npm test, cwd: src, timeout_sec: 60}",
    ),
)
LAW_MISPLACED_ACTION = Code(
    "law-misplaced-action",
    "an action is at a place where it is not allowed",
    "`on_error` can contain only `write_bus` and `release_lock`. A rule on approval requests can "
    "only `write_bus`: a request must not start or request anything.",
    "Move or delete the action.",
    _rule(on_error="[{type: run_cmd, cmd: npm test, cwd: src, timeout_sec: 60}]"),
)
LAW_LOCK_FIRST = Code(
    "law-lock-first",
    "a rule requires a lock but does not take it first",
    "`require_lock: true` promises that nothing happens without the lock.",
    "Make `write_processing_lock` the first action, or write `require_lock: false`.",
    _rule(guards="{category_in: [A], require_lock: true}"),
)
LAW_LOCK_KEY = Code(
    "law-lock-key",
    "the key of a lock is not a plain name",
    "The key is part of a file name, which must stay in the folder of the locks. Results of "
    "commands are not known when a lock is taken.",
    "Write letters, digits, `_`, `.` and `-`, at most 100, and fields such as `{{msg_id}}`.",
    _rule(actions=f"\n  - {{type: write_processing_lock, lock_key: ../../x}}\n  - {_WRITE_BUS}"),
)
LAW_SHELL_SYNTAX = Code(
    "law-shell-syntax",
    "a command contains something that only a shell understands",
    "Commands never run in a shell: `&&`, `>`, `$(…)` and other shell syntax would be text.",
    "Write one program with its arguments. Quote what is an argument.",
    _command('"npm run lint && rm -rf x"'),
)
LAW_COMMAND_QUOTES = Code(
    "law-command-quotes",
    "a command cannot be split into arguments",
    "It is empty or too long, a quote is not closed, or it ends with a backslash.",
    "Close the quote: `'…'` keeps everything as it is, in `\"…\"` a backslash escapes.",
    _command('"python -c \'print(1)"'),
)
LAW_COMMAND_NOT_ALLOWED = Code(
    "law-command-not-allowed",
    "a command starts a program that RULE_DSL does not allow",
    "RULE_DSL allows `npm`, `pnpm`, `yarn`, `python`, `pytest` and `node`, by their whole names, "
    "without a path, an assignment or another program before them.",
    "Use one of these programs, or put the work into a script that one of them runs.",
    _command("git status"),
)
LAW_INTERPOLATION = Code(
    "law-interpolation",
    "a command or its folder contains a field",
    "Nothing from a message is ever inserted into a command. A complete `cmd` can be `{{run}}`: "
    "then the commands of an approved message run, and each is checked separately.",
    'Write the command out, or `cmd: "{{run}}"` alone.',
    _command('"python {{title}}"'),
)
LAW_RUN_CATEGORY = Code(
    "law-run-category",
    "a rule runs commands from a message but is not limited to the categories B, C and D",
    "A message could give itself category A and run its own command without any approval.",
    "Write `category_in` with B, C or D only. B and C then need their approval.",
    _command('"{{run}}"'),
)
LAW_NOT_EXPANDED = Code(
    "law-not-expanded",
    "a command has a wildcard or a `~` that a shell would expand",
    "Commands never run in a shell, so the program gets the character itself.",
    "Quote it if that is what you want. Otherwise name the files.",
    _command('"python check.py *.ts"'),
)
LAW_UNKNOWN_FIELD = Code(
    "law-unknown-field",
    "a template names a field that does not exist",
    "Fields are a closed list. An action with an unknown field fails whenever it runs.",
    "Use one of the fields that the help line names.",
    _rule(actions='[{type: write_bus, channel: output, template: "done {{secret}}"}]'),
)
LAW_FIELD_WITHOUT_VALUE = Code(
    "law-field-without-value",
    "a template names a field that has no value for the trigger of its rule",
    "A message has no `path` and no `type`. A file event has no `msg_id`, no `title` and so on.",
    "Use a field that the trigger of the rule has.",
    _rule(actions='[{type: write_bus, channel: output, template: "saw {{path}}"}]'),
)
LAW_SHADOWED = Code(
    "law-shadowed",
    "a rule is never reached, because an earlier one matches everything that it is for",
    "The first rule that matches ends the search, unless it has `continue: true`.",
    "Give the rule a smaller `priority`, narrow the earlier one, or delete one of the two.",
    _two(_one_of_two("R-ALL", 10, "[1, 2, 3]"), _one_of_two("R-TWO", 20, "[2]")),
)


LAW_FOLDER_NOT_ALLOWED = Code(
    "law-folder-not-allowed",
    "a command would run outside of the allowed folders",
    "Commands run only within `allowed_roots`, which are compared by whole folder names. Without "
    "that list, no command runs.",
    "Write a `cwd` within these folders, without `..`, or add the folder to `[command] roots`.",
    Example("law-action", "{type: run_cmd, cmd: npm run lint, cwd: src/../lib, timeout_sec: 60}"),
)
LAW_NOTHING_TO_RUN = Code(
    "law-nothing-to-run",
    "a rule runs the commands of the message, but the message has none",
    '`cmd: "{{run}}"` stands for the list `run` of the message.',
    "Add the commands to `run` of the message, or write the command in the rule.",
    Example("law-action", '{type: run_cmd, cmd: "{{run}}", cwd: src, timeout_sec: 60}'),
)
