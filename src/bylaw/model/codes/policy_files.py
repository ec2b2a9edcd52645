"""Codes of where policies lie, and of those of the former system."""

from bylaw.model.codes import Code, Example

POLICIES_NOT_CHECKED = Code(
    "policies-not-checked",
    "nobody can tell what the policies of a folder say",
    "Policies are about what changed in a git repository. Without one, or when git or the journal "
    "cannot be read, nothing was checked: that is not the same as nothing to do.",
    "Call it inside of a repository, or name one with `--root`; the message says what is wrong.",
    Example("policies-run", "an empty folder"),
)

LEGACY_POLICIES = Code(
    "legacy-policies",
    "a file of the former policy system is there, and is not read",
    "The former system kept all policies in one `.deepwork.policy.yml`. Each policy is a file of "
    "its own now; reading both could show one policy twice.",
    "Run `bylaw policies migrate`, which shows what it would write, then remove the old file.",
    Example("legacy-policies", '- name: Readme\n  trigger: "src/**"\n'),
)

LEGACY_ENTRY = Code(
    "legacy-entry",
    "a policy of the former system cannot be converted as it is",
    "Each policy becomes a file named after it, with patterns in the syntax of today. Leaving out "
    "what does not fit would make a policy that says something else.",
    "Correct the old file at the place that is shown, then run `bylaw policies migrate` again.",
    Example("legacy-entry", '- name: Readme\n  trigger: "src/[ab].py"\n  instruction: Look.\n'),
)

LEGACY_WILDCARD = Code(
    "legacy-wildcard",
    "a star of the former system may have matched more than it does now",
    "There, `*` also matched the `/` between folders. Now it stays within one folder, and `**/` "
    "stands for any number of them.",
    "Write `**/*.py` where `*.py` meant all folders; leave it where one folder is meant.",
    Example("legacy-entry", '- name: Readme\n  trigger: "*.py"\n  instructions: Look.\n'),
)
