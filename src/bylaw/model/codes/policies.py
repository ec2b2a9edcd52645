"""Codes for file policies, their folders, and the former policy system."""

from bylaw.model.codes import Code, Example


def _policy(keys: str, body: str = "Check it.\n") -> Example:
    return Example("policy", f"---\n{keys}---\n{body}")


def _command(command: str, more: str = "") -> Example:
    return _policy(f"trigger: src/**/*.py\naction:\n  command: {command}\n{more}")


POLICY_FRONT_MATTER = Code(
    "policy-front-matter",
    "a policy file has no front matter, or one without an end",
    "The keys of a policy are between two lines of three dashes. The first of these lines begins "
    "the file. A line with anything more than the dashes does not end the front matter.",
    "Write `---`, the keys, `---`, and the instructions below.",
    Example("policy", "---\ntrigger: src/**/*.py\n----\nCheck it.\n"),
)
POLICY_UNKNOWN_KEY = Code(
    "policy-unknown-key",
    "a policy has an unknown key",
    "If Bylaw ignored a misspelt key, the policy would apply to other files than intended. The "
    "keys `instructions` and `instructions_file` of the old format are now the body of the file.",
    "Use a known key. The help line names the nearest one.",
    _policy("triger: src/**/*.py\n"),
)
POLICY_MISSING_KEY = Code(
    "policy-missing-key",
    "a `pair` or an `action` lacks a key that it needs",
    "A pair needs a `trigger` and what it `expects`. An action needs a `command`.",
    "Add the key that the message names.",
    _policy("pair:\n  trigger: api/{path}.py\n"),
)
POLICY_WRONG_VALUE = Code(
    "policy-wrong-value",
    "a key of a policy has a value of the wrong type, or too many values",
    "Values are not converted. Without quotes YAML reads `5` as a number and `{path}` as keys.",
    "Write a value as the message says. Put patterns in quotes.",
    _policy("trigger: {path}\n"),
)
POLICY_NOT_A_CHOICE = Code(
    "policy-not-a-choice",
    "`compare_to` or `run_for` has a value that is not one of the allowed ones",
    "Both lists are closed.",
    "Use one of the values that the help line names, in the same spelling.",
    _policy("trigger: src/**/*.py\ncompare_to: yesterday\n"),
)
POLICY_MODE = Code(
    "policy-mode",
    "a policy has none of `trigger`, `set`, `pair` and `created`, or more than one",
    "Exactly one of them says which files the policy is about.",
    "Keep one, and write a separate policy for each other.",
    _policy("trigger: src/**/*.py\nset: [src/a.py, src/b.py]\n"),
)
POLICY_MISPLACED_SAFETY = Code(
    "policy-misplaced-safety",
    "`safety` is used with `set`, `pair` or `created`",
    "Only for a policy with `trigger` can changes of other files make the policy silent. Bylaw "
    "does not guess what a key would do that can disable a policy.",
    "Delete `safety`, or use `trigger`.",
    _policy("set: [src/a.py, src/b.py]\nsafety: README.md\n"),
)
POLICY_SET_SIZE = Code(
    "policy-set-size",
    "a set has fewer than two different patterns",
    "A set says which files belong together, so it needs at least two patterns.",
    "Add the pattern of the files that must change together with these.",
    _policy('set: ["src/{path}.py"]\n'),
)
POLICY_NO_BODY = Code(
    "policy-no-body",
    "a policy without `action` has no instructions",
    "When such a policy fires, the agent reads its body. Without a body the agent would not know "
    "what to do.",
    "Write the instructions below the second `---`, or add an `action`.",
    _policy("trigger: src/**/*.py\n", ""),
)
POLICY_IDENTIFIER = Code(
    "policy-identifier",
    "the name of a policy file cannot be an identifier",
    "The identifier is the file name without `.md`. It is used in the queue, in hashes and in "
    "promises, so it cannot contain `:`, `<`, `>`, backslashes or invisible characters.",
    "Rename the file, for example to `readme-accuracy.md`.",
    Example("policies", "`a:b.md`"),
)
POLICY_DUPLICATE_ID = Code(
    "policy-duplicate-id",
    "two policy files have the same name",
    "The file name without folder and ending is the identifier. With two equal ones, queue "
    "entries and promises would be ambiguous.",
    "Rename one of the two files.",
    Example("policies", "`a/review.md` `b/review.md`"),
)
POLICY_SAME_TITLE = Code(
    "policy-same-title",
    "one promise applies to two policies",
    "A promise names a policy by its identifier or its title, ignoring case. A promise that fits "
    "both acknowledges both.",
    "Give each policy a different `name`.",
    Example("policies", "`Review.md` `review.md`"),
)
POLICY_SHELL_SYNTAX = Code(
    "policy-shell-syntax",
    "the command of a policy contains something that only a shell understands",
    "Commands never run in a shell: `&&`, `>`, `$(…)` and other shell syntax would be text.",
    "Write one program with its arguments. Quote what is an argument.",
    _command("ruff format {file} && git add {file}"),
)
POLICY_COMMAND_QUOTES = Code(
    "policy-command-quotes",
    "the command of a policy cannot be split into words",
    "It is empty or too long, a quote is not closed, or it ends with a backslash.",
    "Close the quote: `'…'` keeps everything as it is, in `\"…\"` a backslash escapes.",
    _command("ruff format 'x {file}"),
)
POLICY_PLACEHOLDER = Code(
    "policy-placeholder",
    "a placeholder of a command is unknown, missing, or at a place where it cannot be filled in",
    "`{file}` is for `run_for: each_match`. `{files}` is for `all_matches` and must be a separate "
    "word. `{repo_root}` is always available. The program itself is never a changed file.",
    "Use the placeholder that the help line names.",
    _command("ruff format {files}"),
)
POLICY_PROGRAM_TEXT = Code(
    "policy-program-text",
    "a placeholder is in a text that a program such as `sh -c` runs as code",
    "There a file name is part of the code, not an argument: the name `x;reboot;.py` would run as "
    "it reads. If a name has characters other than letters, digits and `_./@%+=:,-`, it is not "
    "inserted into such a text. The command is then refused for that file and counts as failed.",
    "Pass the file as an argument, which the program reads under a name of its own, such as `sh "
    "-c 'head -1 \"$1\"' sh {file}`.",
    _command("sh -c 'head -1 {file}'"),
)
POLICY_PROGRAM = Code(
    "policy-program",
    "the command of a policy begins with something that cannot be started",
    "Commands run at the top of the repository, without a shell. The program is a name such as "
    "`ruff`, an absolute path, or an executable file of the repository such as `scripts/tidy.sh`. "
    "`~`, `..`, `NAME=value` and shell words such as `cd` are not programs.",
    "Begin with a program, or with a script of the repository by its path from the top.",
    _command("~/tidy.sh {file}"),
)
POLICY_NOTHING_EXPECTED = Code(
    "policy-nothing-expected",
    "the body uses `{expected_files}`, but the policy expects no files",
    "Only `set` and `pair` expect files. Elsewhere the placeholder is always empty.",
    "Use `{trigger_files}`, or delete the placeholder.",
    _policy("trigger: src/**/*.py\n", "Check {expected_files}.\n"),
)


POLICIES_NOT_CHECKED = Code(
    "policies-not-checked",
    "the policies of a folder could not be checked",
    "Policies are about changes in a git repository. Without one, or if git or the journal cannot "
    "be read, nothing was checked. That does not mean that nothing is to be done.",
    "Run the command inside a repository, or name one with `--root`. The message says what is "
    "wrong.",
    Example("policies-run", "an empty folder"),
)

LEGACY_POLICIES = Code(
    "legacy-policies",
    "a file of the former policy system exists and is not read",
    "The former system kept all policies in one `.deepwork.policy.yml`. Now each policy is a "
    "separate file. Reading both could show one policy twice.",
    "Run `bylaw policies migrate`, which shows what it would write. Then remove the old file.",
    Example("legacy-policies", '- name: Readme\n  trigger: "src/**"\n'),
)

LEGACY_ENTRY = Code(
    "legacy-entry",
    "a policy of the former system cannot be converted as it is",
    "Each policy becomes a file named after it, with patterns in the present syntax. Leaving out "
    "what cannot be converted would change the policy.",
    "Correct the old file at the place that is shown, then run `bylaw policies migrate` again.",
    Example("legacy-entry", '- name: Readme\n  trigger: "src/[ab].py"\n  instruction: Look.\n'),
)

LEGACY_WILDCARD = Code(
    "legacy-wildcard",
    "a wildcard of the former system may have matched more than it does now",
    "In the former system, `*` also matched the `/` between folders. Now it stays within one "
    "folder, and `**/` stands for any number of folders.",
    "Write `**/*.py` if `*.py` meant all folders. Keep `*.py` if it meant one folder.",
    Example("legacy-entry", '- name: Readme\n  trigger: "*.py"\n  instructions: Look.\n'),
)
