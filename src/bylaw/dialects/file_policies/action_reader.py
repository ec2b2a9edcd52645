"""`action` of a policy → its command, split into words with placeholders."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bylaw.dialects.file_policies.written import CommandAction, RunFor
from bylaw.expr.command_words import CommandFault, CommandTextError, split_words
from bylaw.expr.program_words import program_words, whole_programs
from bylaw.model.codes import policies as codes
from bylaw.model.source import Span
from bylaw.model.visible import brief

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.dialects.yaml import Scalar
    from bylaw.dialects.yaml.fields import Fields
    from bylaw.model.codes import Code

FILE, FILES, REPO_ROOT = "{file}", "{files}", "{repo_root}"
PLACEHOLDER = re.compile(r"\{[^\W\d]\w*\}")
# The placeholder that a command needs for each way to run it (DW-A21).
NEEDED = {RunFor.EACH_MATCH: FILE, RunFor.ALL_MATCHES: FILES}
_VARIABLE = re.compile(r"[A-Za-z_]\w*=")
# Shell builtins. A program of such a name could change only its own process.
_SHELL_WORDS = frozenset({"alias", "cd", "eval", "exec", "export", "set", "source", "unset"})
_CODES = {
    CommandFault.SHELL: codes.POLICY_SHELL_SYNTAX,
    CommandFault.QUOTES: codes.POLICY_COMMAND_QUOTES,
}


def read_action(policy: Fields) -> CommandAction | None:
    """Return the command of a policy, if it has one. Errors are added to the findings."""
    fields = policy.mapping("action", "`action`")
    if fields is None:
        return None
    fields.closed(("command",), ("run_for",))
    errors_before = fields.findings.errors
    run_for = fields.choice("run_for", RunFor) or RunFor.EACH_MATCH
    node = fields.scalar("command")
    if node is None or fields.findings.errors > errors_before:
        return None
    words = _words(fields, node)
    _check_program(fields, node, words)
    for code, headline, piece, help_ in _wrong_placeholders(words, run_for):
        fields.findings.refuse(code, headline, _place(fields, node, piece), help_)
    if fields.findings.errors == errors_before:
        for headline, word in _in_program_text(words):
            span = _place(fields, node, word)
            fields.findings.doubt(codes.POLICY_PROGRAM_TEXT, headline, span, _AS_ARGUMENT)
    return CommandAction(str(node.value), words, run_for)


def _place(fields: Fields, node: Scalar, piece: str) -> Span:
    at = str(node.value).find(piece)
    # The split removed quotes from the word, so its text may not occur in the command as it is.
    inside = Span(at, at + len(piece)) if at >= 0 else Span(0, len(str(node.value)))
    return fields.findings.place(node, inside)


def _words(fields: Fields, node: Scalar) -> tuple[str, ...]:
    try:
        return split_words(str(node.value)).words
    except CommandTextError as wrong:
        whole = wrong.span.start == wrong.span.end
        span = node.span if whole else fields.findings.place(node, wrong.span)
        fields.findings.refuse(_CODES[wrong.fault], wrong.reason, span, wrong.help)
        return ()


def _check_program(fields: Fields, node: Scalar, words: tuple[str, ...]) -> None:
    """Report a program that can never start on any system."""
    if not words:
        return
    program = words[0].replace(REPO_ROOT, ".")
    why, help_ = _never_starts(program)
    if why:
        at = str(node.value).find(words[0])
        inside = Span(max(at, 0), max(at, 0) + len(words[0]))
        headline = f"`{brief(words[0])}` {why}, so it can never run"
        fields.findings.refuse(
            codes.POLICY_PROGRAM, headline, fields.findings.place(node, inside), help_
        )


def _never_starts(program: str) -> tuple[str, str]:
    """Return why this cannot be a program, and a help text; two empty texts if it can."""
    segments = program.split("/")
    if not program.strip() or segments[-1] in ("", ".", ".."):
        return "is not a program", "begin the command with a program"
    if program.startswith("~"):
        return "begins with `~`, which only a shell expands", "write the full path"
    if ".." in segments and not program.startswith("/"):
        return "is outside the repository", "use a program, or a script of the repository"
    if _VARIABLE.match(program):
        return "sets a variable, as in a shell", f"begin with `env`: `env {brief(program)} …`"
    if program in _SHELL_WORDS:
        return "is a shell builtin", "use a program; it runs at the top of the repository"
    return "", ""


def _wrong_placeholders(
    words: tuple[str, ...], run_for: RunFor
) -> Iterator[tuple[Code, str, str, str]]:
    """Yield code, headline, the text to underline, and help."""
    if not words:
        return
    found = [(word, name) for word in words for name in PLACEHOLDER.findall(word)]
    needed = NEEDED[run_for]
    known = f"use `{needed}` or `{REPO_ROOT}`"
    for _, name in found:
        if name not in (FILE, FILES, REPO_ROOT):
            headline = f"unknown placeholder `{brief(name)}` in a command"
            yield codes.POLICY_PLACEHOLDER, headline, name, known
        elif name not in (needed, REPO_ROOT):
            other = RunFor.ALL_MATCHES if name == FILES else RunFor.EACH_MATCH
            headline = f"`{name}` has no value with `run_for: {run_for}`"
            help_ = f"write `{needed}`, or `run_for: {other}`"
            yield codes.POLICY_PLACEHOLDER, headline, name, help_
    yield from _misplaced(words, run_for, found)


def _misplaced(
    words: tuple[str, ...], run_for: RunFor, found: list[tuple[str, str]]
) -> Iterator[tuple[Code, str, str, str]]:
    needed = NEEDED[run_for]
    names = {name for _, name in found}
    if not names & {FILE, FILES}:
        headline = f"missing placeholder `{needed}` for the changed files"
        help_ = f"add `{needed}`" + ("" if needed == FILES else f", or {_ALL_AT_ONCE}")
        yield codes.POLICY_PLACEHOLDER, headline, _NOWHERE, help_
    if FILE in words[0] or FILES in words[0]:
        headline = "a changed file cannot be the program"
        yield codes.POLICY_PLACEHOLDER, headline, words[0], "begin the command with a program"
    for word in (words[at] for at in sorted(whole_programs(words))):
        if word in (FILE, FILES):
            headline = f"`{word}` is the name of a file, but would be read as program text"
            help_ = f"write the program text first, as in `{_EXAMPLE}`"
            yield codes.POLICY_PLACEHOLDER, headline, word, help_
    for word, name in found:
        if name == FILES == needed and word != FILES:
            headline = f"`{FILES}` must be a separate word: it expands to several words"
            yield codes.POLICY_PLACEHOLDER, headline, word, f"put spaces around `{FILES}`"


def _in_program_text(words: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield the headline and the text to underline."""
    for word in (words[at] for at in sorted(program_words(words))):
        for name in dict.fromkeys(PLACEHOLDER.findall(word)):
            program = brief(words[0])
            yield f"`{name}` is inside a text that `{program}` reads as a program", word


_EXAMPLE = """sh -c '… "$1"' sh {file}"""
_AS_ARGUMENT = f"pass it as an argument: `{_EXAMPLE}`"
_NOWHERE = "\0"  # occurs in no command, so the whole command is underlined
_ALL_AT_ONCE = f"`{FILES}` with `run_for: {RunFor.ALL_MATCHES}` to run it once for all files"
