"""Codes of RULE_DSL: why an action of a rule that matched could not be carried out."""

from bylaw.model.codes import Code, Example

LAW_FOLDER_NOT_ALLOWED = Code(
    "law-folder-not-allowed",
    "a command would run outside of the allowed folders",
    "Commands run only within `allowed_roots`, by whole names of folders; without the list none "
    "runs.",
    "Write a `cwd` within these folders, without `..`, or name the folder in `[command] roots`.",
    Example("law-action", "{type: run_cmd, cmd: npm run lint, cwd: src/../lib, timeout_sec: 60}"),
)
LAW_NOTHING_TO_RUN = Code(
    "law-nothing-to-run",
    "a rule runs what the message brings, and the message brings nothing",
    '`cmd: "{{run}}"` stands for the list `run` of the message.',
    "Write the commands into `run` of the message, or the command into the rule.",
    Example("law-action", '{type: run_cmd, cmd: "{{run}}", cwd: src, timeout_sec: 60}'),
)
