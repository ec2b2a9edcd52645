"""The rule of the requirements, its variations, and what reading them finds."""

from bylaw.languages.base import RuleFile
from bylaw.languages.law.reader import read_rules
from bylaw.model.source import SourceFile

RULE = """\
rule_id: R-LINT
priority: 10
trigger:
  kind: bus_input
  match: {paths: ["src/**"], command_types: [exec]}
guards:
  phase_in: [2]
  category_in: [A]
  require_lock: true
  approval: {mode: none, authorities: []}
actions:
  - {type: write_processing_lock, lock_key: lint}
  - {type: run_cmd, cmd: "npm run lint", cwd: src, timeout_sec: 60}
  - {type: write_bus, channel: output, template: "done {{msg_id}}"}
  - {type: release_lock, lock_key: lint}
on_error:
  - {type: write_bus, channel: error, template: "failed {{msg_id}}"}
  - {type: release_lock, lock_key: lint}
"""
FILE_RULE = """\
rule_id: R-SAVED
priority: 10
trigger:
  kind: fs_event
  match: {paths: ["src/**"], event_types: [modified]}
guards: {phase_in: [2]}
actions:
  - {type: write_bus, channel: output, template: "saw {{path}} {{type}}"}
"""
TELL = "{type: write_bus, channel: output, template: told}"


def changed(old, new, text=RULE):
    """The rule with one part written otherwise."""
    assert text.count(old) == 1, f"`{old}` does not stand there once"
    return text.replace(old, new)


def read(text):
    return read_rules(SourceFile("rules.yaml", text))


def rules_of(text):
    """The rules of a faultless text."""
    rules, found = read(text)
    assert found == []
    return rules


def rule_of(text):
    (rule,) = rules_of(text)
    return rule


def found_in(text):
    """Severity, code and underlined text of every finding."""
    return [(one.severity.value, one.code, one.underlined) for one in read(text)[1]]


def refusal(text):
    """The one error of a text, which gives no rule."""
    rules, (found,) = read(text)
    assert rules == []
    assert found.severity == "error"
    return found


def doubt(text):
    """The one warning about a text, whose rule is in force."""
    rules, (found,) = read(text)
    assert len(rules) == 1
    assert found.severity == "warning"
    return found


def law_file(text, path="rules.yaml"):
    return RuleFile(SourceFile(path, text), "")


def of_files(files):
    """The rules of several faultless files, each with its file."""
    return [(file, rule) for file in files for rule in rules_of(file.source.text)]
