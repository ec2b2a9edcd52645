"""Readers for the keys of a policy: path patterns and `action`; and the runs of its command.

Placeholders of a command are filled in once, word by word. A file name is never read as part of
the command, nor as an option if it begins with a dash (DW-093, DW-A29).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from bylaw.expr.command_line import (
    CommandFault,
    CommandTextError,
    complete_programs,
    program_words,
    split_words,
)
from bylaw.languages.file_policies.syntax import CommandAction, RunFor
from bylaw.languages.file_policies.triggers import pattern
from bylaw.languages.yaml import YamlMapping, YamlScalar, YamlSequence
from bylaw.model.codes import policies as codes
from bylaw.model.display import brief
from bylaw.model.errors import PatternError
from bylaw.model.source import Span
from bylaw.paths import check_resolvable, check_same_variables, normalise

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bylaw.languages.yaml import Node
    from bylaw.languages.yaml_fields import Fields
    from bylaw.model.codes import Code
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.paths import Pattern

MAX_PATTERNS = 100  # of one key
QUOTE = "quote the pattern"


class PatternField(Struct, frozen=True):
    """A pattern with its key and its place. `made` is None if the pattern is invalid."""

    key: str
    node: YamlScalar
    made: Pattern | None

    @property
    def text(self) -> str:
        """The pattern as written."""
        return str(self.node.value)


def texts_of(placed: Iterable[PatternField]) -> tuple[str, ...]:
    """Return the patterns as written, each once."""
    return tuple(dict.fromkeys(one.text for one in placed))


class PatternReader:
    """Reads the patterns of one mapping; `prefix` names the mapping in messages."""

    def __init__(self, fields: Fields, prefix: str = "") -> None:
        self._fields = fields
        self._prefix = prefix

    def one_or_more(self, key: str) -> list[PatternField]:
        """Read a pattern, or a non-empty list of them (DW-A10)."""
        return list(self._read_nodes(key, self._nodes(key)))

    def only_one(self, key: str) -> list[PatternField]:
        """Read exactly one pattern."""
        node = self._fields.node_of(key)
        if isinstance(node, YamlSequence):
            self._fields.wrong(key, "one pattern, not a list")
            return []
        return self.one_or_more(key)

    def several(self, key: str) -> list[PatternField]:
        """Read a list of patterns."""
        node = self._fields.node_of(key)
        if isinstance(node, YamlScalar):
            self._fields.wrong(key, "a list of patterns", f"write `{key}:` with `- …` lines below")
            return []
        return self.one_or_more(key)

    def _nodes(self, key: str) -> list[Node]:
        node = self._fields.node_of(key)
        if not isinstance(node, YamlSequence):
            return [] if node is None else [node]
        if not node.items:
            self._fields.wrong(key, "a pattern or a list of patterns", "the list is empty")
        if len(node.items) > MAX_PATTERNS:
            self._fields.wrong(key, f"at most {MAX_PATTERNS} patterns")
            return []
        return list(node.items)

    def _read_nodes(self, key: str, nodes: Iterable[Node]) -> Iterator[PatternField]:
        for node in nodes:
            if isinstance(node, YamlScalar) and isinstance(node.value, str):
                yield PatternField(key, node, self._parse(key, node))
            else:
                self._report_not_a_pattern(key, node)

    def _report_not_a_pattern(self, key: str, node: Node) -> None:
        """Report a value that is not a pattern: YAML reads braces and stars otherwise (DW-A32)."""
        findings = self._fields.findings
        empty = isinstance(node, YamlScalar) and node.value is None
        help_ = "write one, such as `src/**/*.py`" if empty else QUOTE
        if isinstance(node, YamlMapping):
            help_ = f"{QUOTE}: without quotes YAML reads `{{…}}` as keys and values"
        span = node.span if node.span.start < node.span.end else self._fields.span(key)
        headline = f"`{self._prefix}{key}` must contain path patterns"
        findings.refuse(findings.codes.wrong_value, headline, span, help_)

    def _parse(self, key: str, node: YamlScalar) -> Pattern | None:
        try:
            return pattern(str(node.value))
        except PatternError as wrong:
            self._report(key, node, wrong.diagnostics)
            return None

    def check_set(self, placed: list[PatternField]) -> None:
        """Report variables that are not in all patterns of a set."""
        different = list({one.text: one for one in placed}.values())
        made = [one.made for one in different if one.made]
        if len(made) == len(different):
            self._report_each(different, check_same_variables(made))

    def check_expected(self, wanted: list[PatternField], given: list[PatternField]) -> None:
        """Report variables of expected patterns that the trigger of the pair does not capture."""
        for one in wanted:
            for other in given:
                if one.made and other.made:
                    self._report_each([one], check_resolvable(one.made, other.made))

    def _report_each(self, placed: list[PatternField], found: list[Diagnostic]) -> None:
        for each in found:
            for one in placed:
                if one.made and one.made.source is each.source:
                    self._report(one.key, one.node, [each])

    def _report(self, key: str, node: YamlScalar, found: list[Diagnostic]) -> None:
        """Report findings with key and pattern in the headline, at their place (DW-040)."""
        which = f"`{self._prefix}{key}: {brief(str(node.value))}`"
        told = [replace(one, headline=f"{which}: {one.headline}") for one in found]
        self._fields.findings.relocate(told, node)


FILE, FILES, REPO_ROOT = "{file}", "{files}", "{repo_root}"
PLACEHOLDER = re.compile(r"\{[^\W\d]\w*\}")
# The placeholder that a command needs for each way to run it (DW-A21).
NEEDED_PLACEHOLDER = {RunFor.EACH_MATCH: FILE, RunFor.ALL_MATCHES: FILES}
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
    for code, headline, piece, help_ in _placeholder_problems(words, run_for):
        fields.findings.refuse(code, headline, _place(fields, node, piece), help_)
    if fields.findings.errors == errors_before:
        for headline, word in _program_text_problems(words):
            span = _place(fields, node, word)
            fields.findings.warn(codes.POLICY_PROGRAM_TEXT, headline, span, _AS_ARGUMENT)
    return CommandAction(str(node.value), words, run_for)


def _place(fields: Fields, node: YamlScalar, piece: str) -> Span:
    at = str(node.value).find(piece)
    # The split removed quotes from the word, so its text may not occur in the command as it is.
    inside = Span(at, at + len(piece)) if at >= 0 else Span(0, len(str(node.value)))
    return fields.findings.place(node, inside)


def _words(fields: Fields, node: YamlScalar) -> tuple[str, ...]:
    try:
        return split_words(str(node.value)).words
    except CommandTextError as wrong:
        whole = wrong.span.start == wrong.span.end
        span = node.span if whole else fields.findings.place(node, wrong.span)
        fields.findings.refuse(_CODES[wrong.fault], wrong.reason, span, wrong.help)
        return ()


def _check_program(fields: Fields, node: YamlScalar, words: tuple[str, ...]) -> None:
    """Report a program that can never start on any system."""
    if not words:
        return
    program = words[0].replace(REPO_ROOT, ".")
    why, help_ = _start_problem(program)
    if why:
        at = str(node.value).find(words[0])
        inside = Span(max(at, 0), max(at, 0) + len(words[0]))
        headline = f"`{brief(words[0])}` {why}, so it can never run"
        fields.findings.refuse(
            codes.POLICY_PROGRAM, headline, fields.findings.place(node, inside), help_
        )


def _start_problem(program: str) -> tuple[str, str]:
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


def _placeholder_problems(
    words: tuple[str, ...], run_for: RunFor
) -> Iterator[tuple[Code, str, str, str]]:
    """Yield code, headline, the text to underline, and help."""
    if not words:
        return
    found = [(word, name) for word in words for name in PLACEHOLDER.findall(word)]
    needed = NEEDED_PLACEHOLDER[run_for]
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
    yield from _placement_problems(words, run_for, found)


def _placement_problems(
    words: tuple[str, ...], run_for: RunFor, found: list[tuple[str, str]]
) -> Iterator[tuple[Code, str, str, str]]:
    needed = NEEDED_PLACEHOLDER[run_for]
    names = {name for _, name in found}
    if not names & {FILE, FILES}:
        headline = f"missing placeholder `{needed}` for the changed files"
        help_ = f"add `{needed}`" + ("" if needed == FILES else f", or {_ALL_AT_ONCE}")
        yield codes.POLICY_PLACEHOLDER, headline, _NOWHERE, help_
    if FILE in words[0] or FILES in words[0]:
        headline = "a changed file cannot be the program"
        yield codes.POLICY_PLACEHOLDER, headline, words[0], "begin the command with a program"
    for word in (words[at] for at in sorted(complete_programs(words))):
        if word in (FILE, FILES):
            headline = f"`{word}` is the name of a file, but would be read as program text"
            help_ = f"write the program text first, as in `{_EXAMPLE}`"
            yield codes.POLICY_PLACEHOLDER, headline, word, help_
    for word, name in found:
        if name == FILES == needed and word != FILES:
            headline = f"`{FILES}` must be a separate word: it expands to several words"
            yield codes.POLICY_PLACEHOLDER, headline, word, f"put spaces around `{FILES}`"


def _program_text_problems(words: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield the headline and the text to underline."""
    for word in (words[at] for at in sorted(program_words(words))):
        for name in dict.fromkeys(PLACEHOLDER.findall(word)):
            program = brief(words[0])
            yield f"`{name}` is inside a text that `{program}` reads as a program", word


_EXAMPLE = """sh -c '… "$1"' sh {file}"""
_AS_ARGUMENT = f"pass it as an argument: `{_EXAMPLE}`"
_NOWHERE = "\0"  # occurs in no command, so the whole command is underlined
_ALL_AT_ONCE = f"`{FILES}` with `run_for: {RunFor.ALL_MATCHES}` to run it once for all files"


# Commands run at the top of the repository; its path is filled in when they run.
ROOT = "."
MAX_KNOWN = 1_000  # commands


class RunWords(NamedTuple):
    """The arguments of a run, its files, and the places for the path of the root.

    `root_at` holds pairs: the number of an argument, and a position in its text.
    """

    argv: tuple[str, ...]
    files: tuple[str, ...]
    root_at: tuple[tuple[int, int], ...] = ()


def command_runs(action: CommandAction, files: Sequence[str]) -> Iterator[RunWords]:
    """Yield the runs of the command for these files."""
    if action.run_for is RunFor.EACH_MATCH:
        for file in files:
            yield _run_words([_expand(word, file) for word in action.words], (file,))
    elif files:
        yield _run_words([*_expand_words(action.words, files)], tuple(files))


def _run_words(words: Sequence[_ExpandedWord], files: tuple[str, ...]) -> RunWords:
    # Not in the program (word 0): a script of the repository keeps its relative path.
    places = ((number, at) for number, word in enumerate(words) if number for at in word.root_at)
    return RunWords(tuple(word.text for word in words), files, tuple(places))


def script_of(words: Sequence[str]) -> str:
    """Return the repository file that a command starts; empty if its program is not one."""
    program = _expand_text(words[0], "")
    return normalise(program) or "" if "/" in program and not program.startswith("/") else ""


@lru_cache(MAX_KNOWN)
def named_files(command: str) -> frozenset[str]:
    """Return the words of a command that may be repository files, apart from placeholders."""
    words = [_expand_text(word, "") for word in split_words(command).words if word != FILES]
    values = [word.partition("=")[2] for word in words]  # as in `--config=tidy.toml`
    return frozenset(path for path in map(normalise, [*words, *values]) if path)


class _ExpandedWord(NamedTuple):
    """A word with its placeholders filled in, and the positions of the root in it."""

    text: str
    root_at: tuple[int, ...] = ()


def _expand_words(words: Sequence[str], files: Sequence[str]) -> Iterator[_ExpandedWord]:
    for word in words:
        if word == FILES:
            yield from (_ExpandedWord(_escape_dash(file)) for file in files)
        else:
            yield _expand(word, "")


def _expand_text(word: str, file: str) -> str:
    return _expand(word, file).text


def _expand(word: str, file: str) -> _ExpandedWord:
    known = {FILE: _escape_dash(file) if word.startswith(FILE) else file, REPO_ROOT: ROOT}
    text, end, root_at = "", 0, []
    for found in PLACEHOLDER.finditer(word):
        text, end = text + word[end : found.start()], found.end()
        if found[0] == REPO_ROOT:
            root_at.append(len(text))
        text += known.get(found[0], found[0])
    return _ExpandedWord(text + word[end:], tuple(root_at))


def _escape_dash(path: str) -> str:
    return f"./{path}" if path.startswith("-") else path
