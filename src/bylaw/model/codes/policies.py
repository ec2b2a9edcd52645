"""Codes of file policies: what is wrong with a policy file."""

from bylaw.model.codes import Code, Example


def _policy(keys: str, body: str = "Check it.\n") -> Example:
    return Example("policy", f"---\n{keys}---\n{body}")


def _command(command: str, more: str = "") -> Example:
    return _policy(f"trigger: src/**/*.py\naction:\n  command: {command}\n{more}")


POLICY_FRONT_MATTER = Code(
    "policy-front-matter",
    "a policy file has no front matter, or one that is never closed",
    "The keys of a policy stand between two lines of three dashes, the first of which begins the "
    "file. A line with more than the dashes ends nothing.",
    "Write `---`, the keys, `---`, and the instructions below.",
    Example("policy", "---\ntrigger: src/**/*.py\n----\nCheck it.\n"),
)
POLICY_UNKNOWN_KEY = Code(
    "policy-unknown-key",
    "a policy has a key that means nothing where it stands",
    "A key that is misspelt and passed over would change what the policy looks at. The keys "
    "`instructions` and `instructions_file` of the old format became the body of the file.",
    "Use a known key; the help line names the nearest one.",
    _policy("triger: src/**/*.py\n"),
)
POLICY_MISSING_KEY = Code(
    "policy-missing-key",
    "a `pair` or an `action` lacks a key that it needs",
    "A pair has a `trigger` and what it `expects`, an action has a `command`.",
    "Add the key that the message names.",
    _policy("pair:\n  trigger: api/{path}.py\n"),
)
POLICY_WRONG_VALUE = Code(
    "policy-wrong-value",
    "a key of a policy has a value of the wrong type, or too many values",
    "Values are not converted. Without quotes YAML reads `5` as a number and `{path}` as keys.",
    "Write a value as the message says; quote patterns.",
    _policy("trigger: {path}\n"),
)
POLICY_NOT_A_CHOICE = Code(
    "policy-not-a-choice",
    "`compare_to` or `run_for` has a value that is not among the possible ones",
    "Both lists are closed.",
    "Use one of the values that the help line names, in the same spelling.",
    _policy("trigger: src/**/*.py\ncompare_to: yesterday\n"),
)
POLICY_MODE = Code(
    "policy-mode",
    "a policy has none of `trigger`, `set`, `pair` and `created`, or more than one",
    "Exactly one of them says what the policy looks at.",
    "Keep one, and write a policy of its own for each other.",
    _policy("trigger: src/**/*.py\nset: [src/a.py, src/b.py]\n"),
)
POLICY_MISPLACED_SAFETY = Code(
    "policy-misplaced-safety",
    "`safety` stands beside `set`, `pair` or `created`",
    "Only a policy with `trigger` can be made quiet by other files. A key that would switch a "
    "policy off is not guessed at.",
    "Delete `safety`, or use `trigger`.",
    _policy("set: [src/a.py, src/b.py]\nsafety: README.md\n"),
)
POLICY_SET_SIZE = Code(
    "policy-set-size",
    "a set has fewer than two different patterns",
    "A set says which files belong together; one pattern has nothing to belong to.",
    "Add the pattern of the files that must change together with these.",
    _policy('set: ["src/{path}.py"]\n'),
)
POLICY_NO_BODY = Code(
    "policy-no-body",
    "a policy without `action` has no instructions",
    "When such a policy fires, its body is shown to the agent: without one nobody learns what "
    "to do.",
    "Write the instructions below the second `---`, or add an `action`.",
    _policy("trigger: src/**/*.py\n", ""),
)
POLICY_IDENTIFIER = Code(
    "policy-identifier",
    "the name of a policy file cannot be an identifier",
    "The identifier is the file name without `.md`. It stands in the queue, in hashes and in "
    "promises, so it has no `:`, `<`, `>`, no backslash and nothing that cannot be seen.",
    "Rename the file, such as `readme-accuracy.md`.",
    Example("policies", "`a:b.md`"),
)
POLICY_DUPLICATE_ID = Code(
    "policy-duplicate-id",
    "two policy files have the same name",
    "The name without folder and ending is the identifier: queue entries and promises could not "
    "be told apart.",
    "Rename one of the two files.",
    Example("policies", "`a/review.md` `b/review.md`"),
)
POLICY_SAME_TITLE = Code(
    "policy-same-title",
    "two policies answer to the same promise",
    "A promise names a policy by its identifier or its title, in any case of letters. One that "
    "names both settles both.",
    "Give each policy a `name` of its own.",
    Example("policies", "`Review.md` `review.md`"),
)
POLICY_SHELL_SYNTAX = Code(
    "policy-shell-syntax",
    "the command of a policy has something in it that only a shell understands",
    "Commands never run in a shell: `&&`, `>`, `$(…)` and the like would be passed on as text.",
    "Write one program with its arguments; put in quotes what is an argument.",
    _command("ruff format {file} && git add {file}"),
)
POLICY_COMMAND_QUOTES = Code(
    "policy-command-quotes",
    "the command of a policy cannot be split into words",
    "It is empty, too long, a quote is not closed, or a backslash stands at its end.",
    "Close the quote: `'…'` keeps everything as it is, in `\"…\"` a backslash escapes.",
    _command("ruff format 'x {file}"),
)
POLICY_PLACEHOLDER = Code(
    "policy-placeholder",
    "a placeholder of a command is unknown, missing, or stands where it cannot be filled in",
    "`{file}` is for `run_for: each_match`, `{files}` for `all_matches` and a word of its own; "
    "`{repo_root}` is always known. The program itself is never a changed file.",
    "Use the placeholder that the help line names.",
    _command("ruff format {files}"),
)
POLICY_PROGRAM_TEXT = Code(
    "policy-program-text",
    "a placeholder stands in a text that a program such as `sh -c` reads as a program",
    "There a file name is no argument but a part of the program: `x;reboot;.py` would do what its "
    "name says. A name with other characters than letters, digits and `_./@%+=:,-` is not put into "
    "such a text: the command is refused for that file, and has failed.",
    "Give the file as an argument, which the program reads under a name of its own, such as "
    "`sh -c 'head -1 \"$1\"' sh {file}`.",
    _command("sh -c 'head -1 {file}'"),
)
POLICY_PROGRAM = Code(
    "policy-program",
    "the command of a policy begins with something that is never started",
    "Commands run at the top of the repository, without a shell. The program is a name such as "
    "`ruff`, an absolute path, or an executable file of the repository such as "
    "`scripts/tidy.sh`. `~`, `..`, `NAME=value` and words of shells such as `cd` are none.",
    "Begin with a program, or with a script of the repository by its path from the top.",
    _command("~/tidy.sh {file}"),
)
POLICY_NOTHING_EXPECTED = Code(
    "policy-nothing-expected",
    "the body names `{expected_files}`, and the policy expects none",
    "Only `set` and `pair` expect files; elsewhere the placeholder is always empty.",
    "Use `{trigger_files}`, or delete it.",
    _policy("trigger: src/**/*.py\n", "Look at {expected_files}.\n"),
)
