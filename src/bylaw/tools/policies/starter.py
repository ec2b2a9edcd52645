"""A mode → a policy to begin with: a valid file whose comments say what else it may hold."""

from __future__ import annotations

from bylaw.dialects.file_policies.written import Mode

_TOP = """\
---
# What people read in place of the file's name:
# name: A Title

"""
_BOTTOM = """
# What the work tree is compared to: `base`, where the branch began (the default);
# `default_tip`, the newest commit of the default branch; `prompt`, since the last prompt.
# compare_to: base

# Run a command on the files instead of telling the agent; then the text below is only a note.
# action:
#   command: ruff format {file}
#   run_for: each_match
---
"""
_MODES = {
    Mode.TRIGGER: """\
# Fires when one of these files changed. `*` stays within a folder, `**/` is any number of them.
trigger: src/**/*.py

# Unless one of these changed, too:
# safety: README.md
""",
    Mode.SET: """\
# These files belong together: when one changes, all others must. What `{path}` captures must be
# the same in all of them; it may reach over folders, every other name stays within one.
set:
  - src/{path}.py
  - tests/{path}_test.py
""",
    Mode.PAIR: """\
# When the first changes, the second must, too; not the other way round.
pair:
  trigger: api/{path}.py
  expects: docs/api/{path}.md
""",
    Mode.CREATED: """\
# Fires when one of these files is new. `*` stays within a folder, `**/` is any number of them.
created: src/**/*.py
""",
}
BODIES = {
    Mode.TRIGGER: "These files changed: {trigger_files}. Check what depends on them.",
    Mode.SET: "{trigger_files} changed without {expected_files}. Update these, too.",
    Mode.PAIR: "{trigger_files} changed without {expected_files}. Update these, too.",
    Mode.CREATED: "These files are new: {trigger_files}. Check that they have what they need.",
}


def starter_text(mode: Mode) -> str:
    """The whole file."""
    return f"{_TOP}{_MODES[mode]}{_BOTTOM}{BODIES[mode]}\n"
