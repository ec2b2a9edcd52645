"""Codes of where policies lie, and of those of the former system."""

from bylaw.model.codes import Code, Example

LEGACY_POLICIES = Code(
    "legacy-policies",
    "a file of the former policy system is there, and is not read",
    "The former system kept all policies in one `.deepwork.policy.yml`. Each policy is a file of "
    "its own now; reading both could show one policy twice.",
    "Run `bylaw policies migrate`, which shows what it would write, then remove the old file.",
    Example("legacy-policies", '- name: Readme\n  trigger: "src/**"\n'),
)
