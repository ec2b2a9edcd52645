"""Find the files that a shell text may change, as far as its words show them.

    text → commands → each word by word → targets

Texts inside it are read, too: `$(…)`, `sh -c`, here-documents, code for an interpreter. Texts
beyond the limits are skipped, and the result says so.
"""

from __future__ import annotations

import re
import shlex
from itertools import islice, pairwise
from typing import TYPE_CHECKING, NamedTuple

from bylaw.hosts.clients.tools import diff_paths, patch_paths
from bylaw.hosts.hooks.protect import shell_programs as programs
from bylaw.hosts.hooks.protect.shell_git import git_commands, git_targets, parse_git_call
from bylaw.hosts.hooks.protect.shell_lists import Target, find_commands, join_marks
from bylaw.hosts.hooks.protect.shell_parser import PieceKind, closes_group, opens_group, read_shell
from bylaw.hosts.hooks.protect.shell_programs import (
    base_name,
    module_words,
    new_links,
    option_values,
    program_targets,
    shell_texts,
    start_positions,
)
from bylaw.hosts.hooks.protect.shell_state import (
    ASSIGNMENT,
    NO_INPUT,
    PLACEHOLDER,
    ShellState,
    listed_targets,
    parse_xargs,
    printed_words,
)
from bylaw.hosts.hooks.protect.shell_values import RESERVED, UNKNOWN, without_marks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.hosts.hooks.protect.shell_lists import Link
    from bylaw.hosts.hooks.protect.shell_parser import ShellCommand, ShellText
    from bylaw.hosts.hooks.protect.shell_state import PipeInput, ShellStart

MAX_TEXT = 100_000  # characters
MAX_DEPTH = 8  # of nested texts
MAX_TEXTS = 400  # texts in all
MAX_STARTED = 5_000  # commands that others start
MAX_TARGETS = 200_000

_FUNCTION = re.compile(r"\bfunction\s+([\w.:-]+)|(?<![\w.:-])([\w.:-]+)\s*\(\s*\)")
_TOKEN = re.compile(r"[^\s'\"`()\[\]{},;<>|&=+:]+")


class ShellEffects(NamedTuple):
    """What a text may change, in which folders, and the links that it makes there.

    `is_cut` says that it may change more than that.
    """

    targets: list[Target]
    folders: list[str]
    links: list[Link]
    is_cut: bool


def shell_targets(text: str, start: ShellStart) -> ShellEffects:
    """Return what a text may change, as far as it can be read."""
    reader = _ShellReader(start)
    plain = RESERVED.sub("?", text[:MAX_TEXT]).strip()
    found = list(islice(reader.targets(plain), MAX_TARGETS))
    is_cut = reader.is_cut or len(found) == MAX_TARGETS or len(text) > MAX_TEXT
    found += [Target(path) for path in patch_paths(text)]
    return ShellEffects(found, reader.values.folders, reader.links, is_cut)


class _ShellReader:
    """Reads a text, and keeps what is known of it."""

    def __init__(self, start: ShellStart) -> None:
        self._state = state = ShellState(start)
        self.values = state.values
        self.links: list[Link] = []
        self.is_cut = False
        self._looked = 0
        self._started_so_far = 0
        self._aliases: dict[str, str] = {}

    def targets(self, text: str) -> Iterator[Target]:
        """Yield what a text may change, including the files of lists."""
        for target in self.read(text, 0):
            yield from self._state.lists.targets(target, self.values.folders)
        self.is_cut |= self.values.is_cut

    def read(self, text: str, depth: int, given: PipeInput = NO_INPUT) -> Iterator[Target]:
        """Yield what a text may change; `given` is its input."""
        if self._is_over_limit(depth):
            return
        read = read_shell(text)
        self.is_cut |= not read.is_whole
        before = everything = NO_INPUT
        printed = into_group = ""  # marks of lists
        functions = [[one[1] or one[2]] for one in _FUNCTION.finditer(text)]
        is_told_more = False
        for number, command in enumerate(read.commands):
            yield from self._read_substitutions(command, depth)
            yield from (Target(one) for word in command.writes for one in self._state.of(word))
            words = self._state.of_command(command)
            # After a group, all output so far is input: where the group began is unknown.
            piped = everything if command.after_group else before if command.piped else given
            printed = join_marks(printed, "" if command.piped else before.lists)
            lists = self._state.lists_into(command, words)
            is_told_more |= (
                bool(lists) and closes_group(command) and self._state.assign_read_late(lists)
            )
            piped = piped._replace(lists=join_marks(piped.lists, lists))
            into_group = piped.lists if command.piped and opens_group(command) else into_group
            self._state.hear(words, piped.lists or into_group)
            yield from self._command(words, command, piped, depth)
            yield from self._read_alias(words, depth)
            is_told_more |= words[:1] in functions and self._state.assign_function_arguments(
                words[1:]
            )
            if not depth and not number and self._changes_folder(read, words):
                self.values.forget_start_folder()
            while self._state.run_later:
                yield from self.read(self._state.run_later.pop(), depth + 1)
            if words or command.here:  # the end of a group is not a command of its own
                here, reads = (
                    self._state.expand_all(command.here),
                    self._state.expand_all(command.reads),
                )
                listed = self._state.lists.through(piped.lists, words)
                before = piped.through(words, here, reads, listed)
                everything = everything.beside(before)
        self._state.note_lists(text, join_marks(printed, before.lists))
        if is_told_more:  # the body of a function or loop comes before its input
            yield from self.read(text, depth + 1)

    def _read_substitutions(self, command: ShellCommand, depth: int) -> Iterator[Target]:
        """Yield the changes of commands whose output is in the words of `command`."""
        filling, self._state.filling = self._state.filling, ""
        for word in (*command.words, *command.writes, *command.reads, *command.here):
            for piece in word:
                if piece.kind is PieceKind.COMMAND:
                    yield from self.read(piece.text, depth + 1)
        self._state.filling = filling

    def _is_over_limit(self, depth: int) -> bool:
        """Whether one more text would exceed a limit."""
        self._looked += 1
        is_too_much = depth > MAX_DEPTH or self._looked > MAX_TEXTS
        self.is_cut |= is_too_much
        return is_too_much

    def _read_alias(self, words: list[str], depth: int) -> Iterator[Target]:
        name = words[0] if words else ""
        meant = self._aliases.pop(name, None)  # an alias is not expanded inside itself
        if meant is not None:
            yield from self.read(f"{meant} {shlex.join(words[1:])}", depth + 1)
            self._aliases[name] = meant

    def _changes_folder(self, read: ShellText, words: list[str]) -> bool:
        """Whether all that follows runs in another folder or not at all: `cd FOLDER && …`."""
        first, *others = read.commands
        does_more = bool(first.writes) or any(
            piece.kind is PieceKind.COMMAND for word in first.words for piece in word
        )
        if does_more or not read.is_chain or (others and others[0].piped):
            return False
        is_plain = len(words) == 2 and words[0] == "cd" and not words[1].startswith("-")  # noqa: PLR2004 - `cd FOLDER`
        return is_plain and UNKNOWN not in "".join(self.values.folders)

    def _command(
        self, words: list[str], command: ShellCommand, piped: PipeInput, depth: int
    ) -> Iterator[Target]:
        program = base_name(words[0]) if words else ""
        here = self._state.expand_all(command.here)
        if program in programs.CHANGES_FOLDER:
            self.values.go_to(words[1:])
        elif program in programs.STARTS:
            yield from self._read_started(words, command, piped, depth)
        elif program == "xargs":
            yield from self._read_xargs(words, command, piped, depth)
        elif program in programs.RUNS_TEXT:
            if program == "alias":
                self._aliases |= {one.partition("=")[0]: one.partition("=")[2] for one in words[1:]}
            texts = [one.partition("=")[2] if program == "alias" else one for one in words[1:]]
            yield from self.read(
                " ".join(texts) if program == "eval" else "\n".join(texts), depth + 1
            )
        elif program in programs.SHELLS:
            heard = piped._replace(texts=[*here, *piped.texts])
            yield from self._shell(words, command, heard, depth)
        elif program == "find":
            yield from self._find(words, command, depth)
        elif programs.RUNS_CODE.fullmatch(program):
            yield from self._code(words, [*here, *piped.words, *piped.texts], command, depth)
        else:
            yield from self._plain(words, command, piped, [*here, *piped.texts], depth)

    def _plain(
        self,
        words: list[str],
        command: ShellCommand,
        piped: PipeInput,
        heard: list[str],
        depth: int,
    ) -> Iterator[Target]:
        """Yield the changes of a program whose purpose is not to start others."""
        program = base_name(words[0]) if words else ""
        if program == "git":
            call = parse_git_call(words[1:])
            yield from git_targets(call, self._state.git)
            for text in git_commands(call):
                yield from self.read(text, depth + 1)
            if call.verb in programs.GIT_PATCHES:
                yield from self._patch_targets(piped.files, command, heard)
        elif program == "patch":
            yield from self._patch_targets([*words[1:], *piped.files], command, heard)
        else:
            if program == "ln":
                self.links += new_links([without_marks(one) for one in words[1:]])
            yield from program_targets(program, words[1:])
            yield from self._run_options(program, words, heard, depth)

    def _run_options(
        self, program: str, words: list[str], heard: list[str], depth: int
    ) -> Iterator[Target]:
        """Yield the changes of texts that a program runs because of an option."""
        option = programs.RUNS_OPTION.get(program)
        for text in option_values(option, words) if option else ():
            yield from self.read(programs.RUNS_PREFIX.sub("", text, count=1), depth + 1)
        if program in {"make", "gmake"} and programs.MAKE_READS.search(" ".join(words[1:])):
            for text in heard:
                yield from self.read(programs.MAKE_PREFIX.sub("", text), depth + 1)

    def _patch_targets(
        self, files: list[str], command: ShellCommand, texts: list[str]
    ) -> Iterator[Target]:
        """Yield the files that are named in the patches for a command."""
        yield from (
            Target(one, patch=True) for one in (*files, *self._state.expand_all(command.reads))
        )
        yield from (Target(one) for text in texts for one in diff_paths(text))

    def _read_started(
        self, words: list[str], command: ShellCommand, piped: PipeInput, depth: int
    ) -> Iterator[Target]:
        """Yield the changes of a program that starts another one. Most options are ignored."""
        yield from self._options(words, depth)
        rest = words[1:]
        while rest and (
            rest[0].startswith("-") or ASSIGNMENT.match(rest[0]) or rest[0][:1].isdigit()
        ):
            self._state.assign([rest.pop(0)])
        if rest and " " in rest[0]:  # `watch 'TEXT'`
            yield from self.read(rest[0], depth + 1)
        if base_name(words[0]) in programs.WRITES_FIRST:
            yield from (Target(one) for one in rest if " " not in one)
        for at in start_positions(words, len(words) - len(rest)):
            yield from self._read_inner(words[at:], command, piped, depth)

    def _read_inner(
        self, words: list[str], command: ShellCommand, piped: PipeInput, depth: int
    ) -> Iterator[Target]:
        """Yield the changes of a command that another one starts."""
        self._started_so_far += 1
        if depth >= MAX_DEPTH or self._started_so_far > MAX_STARTED:
            self.is_cut = True
            return
        yield from self._command(words, command, piped, depth + 1)

    def _options(self, words: list[str], depth: int) -> Iterator[Target]:
        """Follow options with a folder, an output file or a text to run: `env -C FOLDER …`."""
        for one, two in pairwise([*words, ""]):
            folder = programs.FOLDER_OPTION.fullmatch(one)
            if folder is not None:
                self.values.go_to([folder["folder"] or two])
            output = programs.OUTPUT_OPTION.fullmatch(one)
            if output is not None:
                yield Target(output["file"] or two)
            text = programs.TEXT_OPTION.fullmatch(one)
            if text is not None:
                yield from self.read(text["text"] or two, depth + 1)

    def _read_xargs(
        self, words: list[str], command: ShellCommand, piped: PipeInput, depth: int
    ) -> Iterator[Target]:
        """`xargs`: its input becomes arguments at the end, or replaces `{}`."""
        call = parse_xargs(
            words,
            [*printed_words(piped.words), *piped.texts, *self._state.expand_all(command.here)],
        )
        self.is_cut |= call.is_cut
        given = [PLACEHOLDER] if piped.lists else call.given
        started = call.started
        if call.mark:
            texts = [
                [one.replace(call.mark, each) for one in started] for each in given or [PLACEHOLDER]
            ]
        else:
            texts = [[*started, *given]]
        acting = [one for text in texts for one in self._read_inner(text, command, NO_INPUT, depth)]
        yield from acting
        if piped.lists:
            yield from listed_targets(acting, self._state.lists.of(piped.lists))

    def _shell(
        self, words: list[str], command: ShellCommand, heard: PipeInput, depth: int
    ) -> Iterator[Target]:
        texts, given = shell_texts(words)
        self._state.give(given)
        texts += self._state.other_values(texts, command)
        for text in texts:
            yield from self.read(text, depth + 1, heard)
        if not texts:
            yield from (Target(one) for one in words[1:])
            for text in heard.texts:
                yield from self.read(text, depth + 1)

    def _find(self, words: list[str], command: ShellCommand, depth: int) -> Iterator[Target]:
        found = self._state.lists.of(self._state.lists.through("", words))
        if "-delete" in words:
            yield from listed_targets([Target(PLACEHOLDER)], found)
        for one, two in pairwise(words):
            if one in {"-fprint", "-fprint0", "-fprintf", "-fls"}:
                yield Target(two)
        for started in find_commands(words):
            done = list(self._read_inner(started, command, NO_INPUT, depth))
            yield from done
            yield from listed_targets(done, found)

    def _code(
        self, words: list[str], texts: list[str], command: ShellCommand, depth: int
    ) -> Iterator[Target]:
        """Yield the names in code for an interpreter; the code itself is not parsed."""
        rest = words[1:]
        module = module_words(rest) if programs.PYTHON.fullmatch(base_name(words[0])) else []
        if module:
            yield from self._read_inner(module, command, NO_INPUT, depth)
            return
        yield Target("\n".join((*rest, *texts)), code=True)
        whole = any(programs.REMOVES_FOLDERS.search(one) for one in (*rest, *texts))
        for text in (*rest, *texts):
            yield Target(text)
            yield from (Target(one, whole=whole) for one in _TOKEN.findall(text))
