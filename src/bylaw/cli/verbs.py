"""Table of the commands: name → module with the click command `command`, and one line of help.

The help lines are here so that `bylaw --help` imports none of the modules.
"""

from __future__ import annotations

from typing import NamedTuple


class Verb(NamedTuple):
    """Module of a command, and its help line."""

    module: str
    help: str


VERBS = {
    "demo": Verb("bylaw.cli.demo", "Watch a scripted agent work under rules of all languages."),
    "init": Verb("bylaw.cli.init", "Create starter rules."),
    "check": Verb("bylaw.cli.check", "Load rule files and report errors."),
    "decide": Verb("bylaw.cli.decide", "Decide events under rules, without performing anything."),
    "chat": Verb("bylaw.cli.chat", "Run the conversation of a ChatMD file under its rules."),
    "context": Verb("bylaw.cli.context", "Check, call and format context documents."),
    "rules": Verb("bylaw.cli.rules", "List, show, disable and enable rules."),
    "install": Verb("bylaw.cli.install", "Install hooks in a coding agent."),
    "uninstall": Verb("bylaw.cli.uninstall", "Remove hooks from a coding agent."),
    "doctor": Verb("bylaw.cli.doctor", "Check that hooks and rules are set up correctly."),
    "trust": Verb("bylaw.cli.trust", "Review the commands that rules can run, and trust them."),
    "bus": Verb("bylaw.cli.bus", "Process messages and file changes under RULE_DSL rules."),
    "approve": Verb("bylaw.cli.approve", "Approve a message that waits in the bus."),
    "reject": Verb("bylaw.cli.reject", "Reject a message of the bus."),
    "policies": Verb("bylaw.cli.policies", "Check changed files against file policies."),
    "hook": Verb("bylaw.cli.hook", "Answer one hook event of a coding agent."),
    "log": Verb("bylaw.cli.log", "Show the journal: events, decisions and their reasons."),
    "explain": Verb("bylaw.cli.explain", "Explain a decision: which rules fired, and why."),
    "verify": Verb("bylaw.cli.verify", "Verify a journal and replay its decisions."),
    "journal": Verb("bylaw.cli.journal", "Erase recorded payloads; the hash chain stays valid."),
    "expr": Verb("bylaw.cli.expr", "Evaluate an expression of a rule language on facts."),
    "match": Verb("bylaw.cli.match", "Match a path pattern against paths."),
    "completion": Verb("bylaw.cli.completion", "Print a completion script for your shell."),
}
