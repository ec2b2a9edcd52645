"""Codes for folders of policies, and for the former policy system."""

from bylaw.model.codes import Code, Example

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
