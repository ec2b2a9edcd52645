"""The verbs: name → module that holds its click command as `command`, and one line of help.

The line stands here so that `bylaw --help` imports none of the modules.
"""

from __future__ import annotations

from typing import NamedTuple


class Verb(NamedTuple):
    """Where a verb is written and what it does."""

    module: str
    help: str


VERBS = {
    "demo": Verb("bylaw.cli.demo", "Watch rules of all languages govern a scripted agent."),
    "init": Verb("bylaw.cli.init", "Lay out rules to begin with."),
    "check": Verb("bylaw.cli.check", "Load rule files and say what is wrong with them."),
    "decide": Verb("bylaw.cli.decide", "Decide events under rules: the engine on a pipe."),
    "chat": Verb("bylaw.cli.chat", "Run the conversation of a ChatMD file under its rules."),
    "context": Verb("bylaw.cli.context", "Check, call and format context documents."),
    "rules": Verb("bylaw.cli.rules", "List rules, show one, switch one off or on."),
    "install": Verb("bylaw.cli.install", "Install hooks in a coding agent."),
    "uninstall": Verb("bylaw.cli.uninstall", "Take hooks out of a coding agent."),
    "doctor": Verb("bylaw.cli.doctor", "Look whether hooks and rules are set up well."),
    "trust": Verb("bylaw.cli.trust", "Show what rules can start, and trust it."),
    "bus": Verb("bylaw.cli.bus", "Run messages and changes of files under law."),
    "approve": Verb("bylaw.cli.approve", "Approve a message that waits in the bus."),
    "reject": Verb("bylaw.cli.reject", "Reject a message of the bus."),
    "policies": Verb("bylaw.cli.policies", "Check what changed against file policies."),
    "hook": Verb("bylaw.cli.hook", "Answer one event of a coding agent."),
    "log": Verb("bylaw.cli.log", "Show what happened: the records of a journal."),
    "explain": Verb("bylaw.cli.explain", "Explain a decision: which rules, and why."),
    "verify": Verb("bylaw.cli.verify", "Check that a journal is whole, and decide it again."),
    "journal": Verb("bylaw.cli.journal", "Erase what is recorded, without breaking the chain."),
    "expr": Verb("bylaw.cli.expr", "Try an expression of a rule language on facts."),
    "match": Verb("bylaw.cli.match", "Try a path pattern on paths."),
    "completion": Verb("bylaw.cli.completion", "Print a script that completes in your shell."),
}
