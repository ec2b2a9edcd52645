"""Starter files for policies: valid files whose comments explain the optional keys."""

from __future__ import annotations

from bylaw.dialects.file_policies.written import Mode

_TOP = """\
---
# Title to show instead of the file name:
# name: A Title

"""
_BOTTOM = """
# Compare the work tree with `base`, the start of the branch (default), with `default_tip`, the
# newest commit of the default branch, or with `prompt`, its state at the last prompt.
# compare_to: base

# Run a command on the files instead of sending the text below, which is then only a note.
# action:
#   command: ruff format {file}
#   run_for: each_match
---
"""
_MODES = {
    Mode.TRIGGER: """\
# Fires when one of these files changes. `*` matches within a folder, `**/` any number of folders.
trigger: src/**/*.py

# Does not fire if one of these also changes:
# safety: README.md
""",
    Mode.SET: """\
# When one of these files changes, all others must change. `{path}` must capture the same text in
# all of them. It may cross folders; placeholders with other names match within one folder.
set:
  - src/{path}.py
  - tests/{path}_test.py
""",
    Mode.PAIR: """\
# When the trigger changes, the expected file must change. The reverse is not required.
pair:
  trigger: api/{path}.py
  expects: docs/api/{path}.md
""",
    Mode.CREATED: """\
# Fires when one of these files is new. `*` matches within a folder, `**/` any number of folders.
created: src/**/*.py
""",
}
BODIES = {
    Mode.TRIGGER: "These files changed: {trigger_files}. Check what depends on them.",
    Mode.SET: "{trigger_files} changed without {expected_files}. Update them.",
    Mode.PAIR: "{trigger_files} changed without {expected_files}. Update them.",
    Mode.CREATED: "These files are new: {trigger_files}. Check that they have what they need.",
}


def starter_text(mode: Mode) -> str:
    """Return the text of the file."""
    return f"{_TOP}{_MODES[mode]}{_BOTTOM}{BODIES[mode]}\n"
