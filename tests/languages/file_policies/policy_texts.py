"""Policies of the document, changes by hand, and short ways to read and find."""

from bylaw.languages.file_policies.reader import read_policy
from bylaw.languages.file_policies.triggers import find_match
from bylaw.model.facts import ChangedFile, ChangeSet
from bylaw.model.source import SourceFile
from bylaw.model.vocabulary import FileStatus

README = """\
---
name: README Accuracy
trigger: src/**/*.py
safety: README.md
---
Instructions shown to the agent when this policy fires.

These can be multi-line with full markdown formatting.
"""
PAIRING = """\
---
name: Source/Test Pairing
set:
  - src/{path}.py
  - tests/{path}_test.py
---
Update the test.
"""
API = """\
---
name: API Documentation
pair:
  trigger: api/{path}.py
  expects: docs/api/{path}.md
---
Document the API.
"""
FORMAT = """\
---
name: Python Formatting
trigger: "**/*.py"
action:
  command: "ruff format {file}"
---
"""


def policy_text(keys, body="Check it.\n"):
    """A policy with these lines of YAML."""
    return f"---\n{keys}\n---\n{body}"


def read(text, path=".deepwork/policies/p.md"):
    return read_policy(SourceFile(path, text))


def policy_of(text, path=".deepwork/policies/p.md"):
    """The policy of a faultless text."""
    policy, found = read(text, path)
    assert found == []
    return policy


def policy(keys, body="Check it.\n", name="p"):
    return policy_of(policy_text(keys, body), f".deepwork/policies/{name}.md")


def refusals(keys, body="Check it.\n"):
    """Code and underlined text of all errors of a policy that is refused."""
    made, found = read(policy_text(keys, body))
    assert made is None
    return [(one.code, one.underlined) for one in found if one.severity == "error"]


def refusal(keys, body="Check it.\n"):
    """The one error of a policy that is refused."""
    made, (found,) = read(policy_text(keys, body))
    assert made is None
    return found


def changes(*paths, deleted=(), added=(), ref="abc123", digests=None):
    """Changed files; the digest of a file is its own path if nothing else is said."""
    known = digests or {}
    files = [
        ChangedFile(path=path, status=FileStatus.MODIFIED, digest=known.get(path, path))
        for path in paths
    ]
    files += [ChangedFile(path=path, status=FileStatus.DELETED) for path in deleted]
    files += [ChangedFile(path=path, status=FileStatus.ADDED, digest="new") for path in added]
    return ChangeSet(ref=ref, files=tuple(files))


def found(keys, *paths, **more):
    """What a policy with these keys finds."""
    return find_match(policy(keys), changes(*paths, **more))
