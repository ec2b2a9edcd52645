"""Codes for RULE_DSL: why an action of a matching rule could not be carried out."""

from bylaw.model.codes import Code, Example

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
