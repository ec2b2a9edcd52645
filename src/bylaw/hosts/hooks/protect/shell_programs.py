"""The files that a program may change, by its name and arguments.

Tables say what known programs do to the files in their arguments; an unknown program may change
every file that it is given. Not every option can be distinguished from a file: a word that names a
file counts as one.
"""

from __future__ import annotations

import os
import re
from itertools import pairwise
from typing import TYPE_CHECKING

from bylaw.expr.command_line import program_words
from bylaw.hosts.hooks.protect.shell_lists import Link, Target
from bylaw.store.state_folder import BYLAW_FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterator

# They only read, with any arguments.
READS = frozenset(
    {
        *("cat", "tac", "ls", "dir", "head", "tail", "grep", "egrep", "fgrep", "zgrep", "ag"),
        *("wc", "diff", "cmp", "comm", "more", "bat", "batcat", "stat", "du", "df", "lsattr"),
        *("echo", "printf", "test", "[", "[[", "true", "false", ":", "pwd", "cd", "pushd", "popd"),
        *("which", "type", "whereis", "basename", "dirname", "realpath", "readlink", "namei"),
        *("md5sum", "sha1sum", "sha256sum", "sha512sum", "b2sum", "cksum", "sum"),
        *("cut", "paste", "join", "fold", "fmt", "nl", "od", "hexdump", "strings", "column", "jq"),
        *("export", "local", "declare", "typeset", "readonly", "unset", "set", "shopt", "read"),
        *("for", "case", "select", "esac", "fi", "done", "return", "exit", "break", "continue"),
        *("sleep", "wait", "jobs", "ps", "uname", "id", "whoami", "hostname", "tput"),
        *("date", "seq", "expr", "help", "umask", "ulimit", "ack"),
        *("tokei", "exa", "eza", "lsd", "getfacl"),
    }
)
# They only read, unless an argument matches.
READS_WITHOUT = {
    "sort": re.compile(r"-[a-zA-Z]*o.*|--o[a-z]*(?:=.*)?"),
    "rg": re.compile(r"--pre(?:=.*)?|--hostname-bin(?:=.*)?"),
    "less": re.compile(r"-[a-zA-Z]*[oO].*|--(?:log-file|LOG-FILE)(?:=.*)?|\+.*"),
    "tree": re.compile(r"-[a-zA-Z]*o.*|--output(?:=.*)?"),
    "file": re.compile(r"-[a-zA-Z]*C.*|--compile"),
    "fd": re.compile(r"-[a-zA-Z]*[xX].*|--exec(?:-batch)?(?:=.*)?"),
    "fdfind": re.compile(r"-[a-zA-Z]*[xX].*|--exec(?:-batch)?(?:=.*)?"),
    "sed": re.compile(
        r"-[a-df-zA-Z]*i.*|--i[a-z-]*(?:=.*)?|-[a-df-zA-Z]*f.*|--fi[a-z]*(?:=.*)?"
        r"|(?s:(?:.*[\s;{}/|,!0-9$=]|-[a-zA-Z]*?e)?e(?:\s.*|))"
    ),
    "awk": re.compile(r"-i|-i.+|--include(?:=.*)?|-f.*|--file(?:=.*)?|(?s:.*(?:>|\||system).*)"),
    "gh": re.compile(r"-[OD].*|--(?:output|dir)(?:=.*)?|download|clone|alias|extension"),
    "man": re.compile(r"-[a-zA-Z]*[PH].*|--(?:pager|html)(?:=.*)?"),
    "history": re.compile(r"-[a-z]*[aw].*"),
    "cloc": re.compile(
        r"--(?:out|report[-_]file|sql|ignored|counted|categorized|found|write-lang-def"
        r"|extract-with)(?:=.*)?"
    ),
    "scc": re.compile(r"-o.*|--output(?:=.*)?|--format-multi(?:=.*)?"),
}
# The file that a script of `sed` writes: everything after a `w` in its line.
SED_WRITES = re.compile(
    r"(?<![a-dfhj-loq-zA-HJ-LN-Z])[wW](?=[ \t]*(?P<file>[^\n]{1,4096})$)", re.MULTILINE
)
SED = frozenset({"sed", "gsed"})
# They read the first file and write the second. The patterns are options with a value in the next
# word.
WRITES_SECOND = {
    "uniq": re.compile(r"-[a-zA-Z]*[fsw]|--(?:skip-fields|skip-chars|check-chars)"),
    "xxd": re.compile(r"-(?:[slcgonR]|seek|len|cols|groupsize|offset|name)"),
}
# Options whose value is the text of a command.
RUNS_OPTION = {
    **dict.fromkeys(("bat", "batcat", "ag"), re.compile(r"--pager(?:=(?P<text>.*))?", re.DOTALL)),
    **dict.fromkeys(("make", "gmake"), re.compile(r"(?:-E|--eval)(?:=(?P<text>.*))?", re.DOTALL)),
    **dict.fromkeys(
        ("tar", "gtar", "bsdtar"),
        re.compile(
            r"(?:--(?:checkpoint-a|to-c|use-c|info-|new-|rsh-)[a-z-]*=?|-[a-zA-Z]*?[IF]=?)"
            r"(?P<text>.*)",
            re.DOTALL,
        ),
    ),
    "rsync": re.compile(r"(?:-[a-zA-Z]*?e|--rsh)=?(?P<text>.*)", re.DOTALL),
    "ssh": re.compile(r"(?:-o ?)?(?:ProxyCommand|LocalCommand)(?:[= ](?P<text>.*))?", re.DOTALL),
}
# What precedes the command in the value of such an option.
RUNS_PREFIX = re.compile(r"^exec=")
# Their arguments are addresses, with names of files between colons and commas.
ADDRESSED = frozenset({"socat"})
# How `make` reads its rules from standard input, and what precedes a command in them.
MAKE_READS = re.compile(r"(?:^|\s)(?:-[a-zA-Z]*f|--(?:make)?file)[ =]?(?:-|/dev/stdin)(?:\s|$)")
MAKE_PREFIX = re.compile(r"^[\t ]*[@+-]+", re.MULTILINE)
READS_WITHOUT |= dict.fromkeys(("gawk", "mawk", "nawk"), READS_WITHOUT["awk"])
READS_WITHOUT |= {"gsed": READS_WITHOUT["sed"]}

# They change a folder with all its files.
WHOLE = frozenset(
    {
        *("rm", "rmdir", "unlink", "mv", "chmod", "chown", "chgrp", "chattr", "setfacl"),
        *("truncate", "shred", "srm", "trash", "trash-put", "gio", "rename", "mount", "umount"),
        *("del", "rimraf", "wipe"),
    }
)
# Modes with which the owner of a file can still read and write it.
STAYS_READABLE = re.compile(r"0?[67][0-7]{2}|[ugoa]*\+[rwxX]+|[goa]+-[wx]+|-x")
# They copy to the last file, or into the last folder; the others are only read.
COPIES = frozenset({"cp", "gcp", "install", "scp", "rsync", "ditto"})
# These make links, not copies: writing to one also changes the other.
LINKING = re.compile(r"-[a-zA-Z]*[ls][a-zA-Z]*|--(?:link|symbolic-link)")
REMOVES_SOURCES = re.compile(r"--remove-source-files|--remove-sent-files")
REMOVES_OTHERS = re.compile(r"--delete.*|--del")
EXCLUDES = re.compile(r"--exclude(?P<value>=.*)?", re.DOTALL)
COPIES_FOLDERS = re.compile(r"-[a-zA-Z]*[rRa][a-zA-Z]*|--(?:recursive|archive)")
INTO = re.compile(r"(?:-[a-zA-Z]*?t|--t[a-z-]*)(?:=?(?P<folder>.+))?")

# They unpack archives if an option says so.
UNPACKS = frozenset({"tar", "gtar", "bsdtar", "unzip"})
TAR_EXTRACTS = re.compile(r"-[a-zA-Z]*x.*|--(?:ext[a-z]*|get)")
UNZIP_READS = re.compile(r"-[A-OQ-Za-ce-wyz]*[lptvzZ].*")  # values follow `d`, `x` and `P`
UNPACK_FOLDER = re.compile(r"(?:-[a-zA-Z]*?[Cd]|--(?:dir[a-z]*|cd))(?:=?(?P<folder>.+))?")
# Options of `tar` that have a value. Its first word may combine options, without a `-`.
TAR_VALUED = frozenset("bCfFgHIKLNTVX")
UNPACK_STRIPPED = re.compile(r"--strip(?:-components)?=(?P<number>[0-9]{1,3})")

# They start the command in their arguments.
STARTS = frozenset(
    {
        *("sudo", "doas", "env", "command", "builtin", "exec", "nohup", "time", "timeout", "nice"),
        *("ionice", "setsid", "stdbuf", "chronic", "busybox", "toybox", "unbuffer", "script"),
        *("strace", "ltrace", "watch", "flock", "parallel", "chroot", "unshare", "firejail"),
        *("npx", "pnpx", "bunx", "uvx", "pipx", "uv", "poetry", "pdm", "hatch", "rye", "run"),
        *("winpty", "gtimeout", "caffeinate", "taskset", "systemd-run", "proxychains", "torsocks"),
        *("runuser", "pkexec", "nsenter", "chrt", "prlimit", "setarch", "fakeroot", "entr"),
        *("dbus-run-session", "xvfb-run"),
    }
)
# Those of them that need another argument before it: a file, a folder, a number.
STARTS_SECOND = frozenset({"flock", "chroot", "taskset"})
# They go to a folder; they declare variables; they give unknown values to variables.
CHANGES_FOLDER = frozenset({"cd", "pushd", "chdir"})
DECLARES = frozenset({"export", "declare", "local", "readonly", "typeset"})
READS_VALUES = frozenset({"read", "mapfile", "readarray", "getopts", "let"})
# Those of them that read lines, and the variable that they use if they name none.
READS_LINES = {"read": "REPLY", "mapfile": "MAPFILE", "readarray": "MAPFILE"}
# Settings of a shell with which patterns also match hidden files.
SHOWS_HIDDEN = re.compile(r"dot_?glob|glob_?dots", re.IGNORECASE)
# They run the text in their arguments, now or later.
RUNS_TEXT = frozenset({"eval", "trap", "alias"})
# Variables whose value is the text of a command that another program runs.
RUN_VARIABLE = re.compile(
    r"(?:\w+_)?(?:PAGER|EDITOR|VISUAL|BROWSER|ASKPASS)|LESS(?:OPEN|CLOSE)|PROMPT_COMMAND"
    r"|GIT_(?:SSH_COMMAND|EXTERNAL_DIFF|PROXY_COMMAND|CONFIG_VALUE_[0-9]+)"
)
# They run their input; the last ones run it later.
SHELLS = frozenset(
    {
        *("sh", "bash", "zsh", "dash", "ksh", "mksh", "ash", "fish", "su", "rbash"),
        *("source", "."),
        *("at", "batch", "crontab"),
    }
)
# Options of programs that start others: a text to run; further below, the folder to run it in.
TEXT_OPTION = re.compile(r"(?:-c|-S|--command|--split-string)(?:=(?P<text>.+))?", re.DOTALL)
# The file to which such a program writes its output; for some it is the word after the options.
OUTPUT_OPTION = re.compile(r"(?:-[a-zA-Z]*?o|--output)(?:=?(?P<file>.+))?")
WRITES_FIRST = frozenset({"script"})
FOLDER_OPTION = re.compile(r"(?:-C|-D|--chdir|--working-directory|--wd)(?:=?(?P<folder>.+))?")
RUNS_CODE = re.compile(
    r"(?:python|pypy)[0-9.]*|node(?:js)?|deno|bun|perl[0-9.]*|ruby[0-9.]*|php[0-9.]*|lua[0-9.]*"
    r"|luajit|Rscript|osascript|pwsh|powershell|tclsh|julia|ts-node|tsx|ed|ex|vim?|nvim|emacs"
)
PYTHON = re.compile(r"(?:python|pypy)[0-9.]*")
# Options of Python: the one that names a module, and those that may precede it.
MODULE = re.compile(r"-[bBdEiIOPqsSuvx]*m(?P<name>.*)")
MODULE_FLAGS = re.compile(r"-[bBdEiIOPqsSuvx]+|-[WX].+|--.+")
# Code that removes folders with all their files.
REMOVES_FOLDERS = re.compile(r"rmtree|rmSync|rm_rf|rm_r|rmdir|remove_tree|removeSync|rimraf|unlink")
KEYWORDS = frozenset(
    {
        "if",
        "then",
        "elif",
        "else",
        "while",
        "until",
        "do",
        "!",
        "{",
        "}",
        "time",
        "coproc",
        "fi",
        "function",
    }
)

# Subcommands of git that do not change the files in their arguments.
GIT_READS = frozenset(
    {
        *("diff", "log", "show", "status", "add", "commit", "blame", "annotate", "branch", "tag"),
        *("fetch", "push", "ls-files", "ls-tree", "ls-remote", "grep", "rev-parse", "rev-list"),
        *("remote", "describe", "shortlog", "cat-file", "merge-base", "diff-tree", "diff-index"),
        *("for-each-ref", "reflog", "whatchanged", "name-rev", "show-ref", "count-objects"),
        *("check-ignore", "check-attr", "hash-object", "var", "version", "help", "range-diff"),
        *("stage", "notes", "bisect", "cherry", "show-branch", "verify-commit", "fsck", "gc"),
    }
)
# Variables that decide which repository and files git uses.
GIT_VARIABLE = re.compile(r"GIT_(?:WORK_TREE|DIR|COMMON_DIR|INDEX_FILE|OBJECT_DIRECTORY|NAMESPACE)")
# Options of git before its subcommand that have a value.
GIT_VALUED = re.compile(
    r"-[Cc]|--(?:git-dir|work-tree|exec-path|namespace|super-prefix|config-env|attr-source)"
)
# Options after the subcommand whose value is the text of a command.
GIT_RUNS = {
    "rebase": re.compile(r"(?:-[a-z]*?x|--ex[a-z]*)(?:=?(?P<text>.+))?", re.DOTALL),
    "filter-branch": re.compile(r"--[a-z-]+-filter(?:=(?P<text>.+))?", re.DOTALL),
    "difftool": re.compile(r"(?:-x|--ext[a-z]*)(?:=?(?P<text>.+))?", re.DOTALL),
    "grep": re.compile(r"(?:-O|--op[a-z-]*)(?:=?(?P<text>.+))?", re.DOTALL),
}
# Options that print to a file or start a program.
GIT_OUTPUT = re.compile(r"--output(?:=.*)?|--ext-diff|--op[a-z-]*(?:=.*)?|-O.*")
# With these, `checkout` switches branches, which changes no modified file.
GIT_SWITCHES_BRANCH = re.compile(r"-[bBdt]|--(?:orphan|detach|track)(?:=.*)?")
GIT_HARD = re.compile(r"--(?:ha|me|k)[a-z]*")
GIT_FORCED = re.compile(r"-[a-zA-Z]*f[a-zA-Z]*|--(?:f|di)[a-z-]*")
GIT_DRY_RUN = re.compile(r"-[a-zA-Z]*n[a-zA-Z]*|--dry-run")
GIT_ALL = re.compile(r"-[a-zA-Z]*a[a-zA-Z]*|--all")
# Options that have a value: the source of files, files to skip, a message.
GIT_SOURCE = re.compile(r"(?:-s|--source)(?:=?(?P<value>.+))?")
GIT_EXCLUDE = re.compile(r"(?:-[a-zA-Z]*?e|--exclude)(?:=?(?P<value>.+))?")
GIT_MESSAGE = re.compile(r"(?:-[a-zA-Z]*?m|--message)(?:=?(?P<value>.+))?", re.DOTALL)
GIT_UPDATES = re.compile(r"-[a-zA-Z]*u[a-zA-Z]*|--res[a-z]*")
# They change the index by names or numbers, so what git says of it before is not true afterwards.
GIT_INDEX = frozenset({"update-index", "read-tree", "rm", "mv", "update-ref", "symbolic-ref"})
GIT_CACHED = re.compile(r"--(?:cached|index|3way)|-3")
# They change the files that the patches in their arguments name.
GIT_PATCHES = frozenset({"apply", "am"})
# Options of `git update-index`, also abbreviated: git no longer checks whether a file was changed.
GIT_HIDES = re.compile(r"--(?:as|sk|fsmonitor-)[a-z-]*")
# Settings of git that decide what it runs and what it sees.
GIT_SETTING = re.compile(
    r"(?:core\.(?:hookspath|fsmonitor|worktree|excludesfile|attributesfile|bare|repositoryformat.*"
    r"|sshcommand|pager|editor|askpass|gitproxy)|sequence\.editor|credential\..*|pager\..*"
    r"|diff\.(?:external|.+\.(?:command|textconv))|merge\..+\.driver|gpg\.(?:.+\.)?program"
    r"|remote\..+\.(?:uploadpack|receivepack|vcs)|submodule\..+\.update"
    r"|include(?:if)?\..*|extensions\..*|alias\..*|filter\..*)",
    re.IGNORECASE,
)
GIT_CONFIG_READS = re.compile(r"--get.*|--list|-l|get|list")

# Commands of Bylaw that do not change the files in their arguments, or check who runs them.
OUR_READ_COMMANDS = frozenset(
    {
        *("check", "explain", "log", "verify", "match", "expr", "decide", "rules", "trust"),
        *(
            "approve",
            "reject",
            "doctor",
            "install",
            "uninstall",
            "bus",
            "policies",
            "journal",
        ),
        *("init", "completion", "--version", "--help", "-h", ""),
    }
)
# Those of them that are only for people: always, or if one of these words is in the arguments.
OUR_PERSON_COMMANDS: dict[str, frozenset[str]] = {
    "trust": frozenset(),
    "approve": frozenset(),
    "uninstall": frozenset(),
    "rules": frozenset({"enable", "disable"}),
    "journal": frozenset({"purge"}),
    "doctor": frozenset({"--release"}),
}
# The command that is only for clients: it sends events in the name of one.
OUR_CLIENT_COMMAND = "hook"
OUR_CONTEXT_READS = frozenset({"check", "call", "state", "render", "repl"})


_ATTACHED = re.compile(r"-[A-Za-z](?P<path>.+)", re.DOTALL)


def base_name(word: str) -> str:
    """Return the name of a program without its folder."""
    return word.rpartition("/")[2]


def paths_in(word: str) -> Iterator[str]:
    """Yield a word, and its parts after `=` and after a short option; each may be a path."""
    yield word
    if "=" in word:
        yield word.partition("=")[2]
    attached = _ATTACHED.fullmatch(word)
    if attached is not None:
        yield attached["path"]


def move_targets(words: list[str]) -> Iterator[Target]:
    """Yield the files that `mv` removes from their place, and those that it writes."""
    files = [one for one in words if not one.startswith("-")]
    into = any(INTO.fullmatch(one) for one in words if one.startswith("-"))
    last = files[-1:] if len(files) > 1 and not into else []
    yield from (Target(one, whole=True) for one in files[: len(files) - len(last)])
    yield from (Target(one) for one in last)
    yield from (Target(one) for word in words if "=" in word for one in paths_in(word))
    yield from targets_in_folder(words)


def new_links(words: list[str]) -> Iterator[Link]:
    """Yield the links that `ln` makes: with the last name, or in the folder of that name."""
    files, folders = _split_folders(words)
    for folder in folders if files else ["."]:
        for one in files or folders:
            yield Link(f"{folder}/{base_name(one.rstrip('/'))}", one)
            yield Link(folder, one)


def copy_targets(given: list[str]) -> Iterator[Target]:
    """Yield the files that a copy writes, and those that its options remove."""
    words = _without_exclusions(given)
    if any(LINKING.fullmatch(one) for one in words if one.startswith("-")):
        yield from (Target(one, whole=True) for one in words[:-1])
        yield from (Target(one) for word in words for one in paths_in(word))
    files = [one for one in words if not one.startswith("-")]
    if any(REMOVES_SOURCES.fullmatch(one) for one in words):
        yield from (Target(one, whole=True) for one in files[:-1])
    whole = any(REMOVES_OTHERS.fullmatch(one) for one in words)
    yield from (Target(one, whole=whole) for one in files[-1:])
    yield from targets_in_folder(words)
    if any(COPIES_FOLDERS.fullmatch(one) for one in words):
        yield from _folder_targets(files)
    yield from (Target(one) for word in words if "=" in word for one in paths_in(word))


def unpack_targets(program: str, given: list[str]) -> Iterator[Target]:
    """Yield the named files, and a target for each word that may be an archive to unpack."""
    words = _without_exclusions(given if program == "unzip" else _tar_options(given))
    if program == "unzip" and any(UNZIP_READS.fullmatch(one) for one in words):
        return
    yield from (Target(one) for word in words for one in paths_in(word))
    options = [one for one in words if one.startswith("-")]
    if program != "unzip" and not any(TAR_EXTRACTS.fullmatch(one) for one in options):
        return
    folder, stripped = ".", 0
    for one, two in pairwise([*words, ""]):
        found = UNPACK_FOLDER.fullmatch(one)
        if found is not None:
            folder = os.path.join(folder, found["folder"] or two)  # noqa: PTH118 - a text
        found = UNPACK_STRIPPED.fullmatch(one)
        if found is not None:
            stripped = int(found["number"])
    for archive in dict.fromkeys(one for word in words for one in paths_in(word)):
        yield Target(folder, archive=archive, stripped=stripped)


def _tar_options(words: list[str]) -> list[str]:
    """Return `tar xfC ARCHIVE FOLDER` as `tar -x -f ARCHIVE -C FOLDER`."""
    if not words or words[0].startswith("-"):
        return words
    rest = iter(words[1:])
    options = [
        part
        for letter in words[0]
        for part in (f"-{letter}", *([next(rest, "")] if letter in TAR_VALUED else ()))
    ]
    return [*options, *rest]


def _without_exclusions(words: list[str]) -> list[str]:
    found = [EXCLUDES.fullmatch(one) for one in words]
    # Without an attached value, the value is the next word.
    before = [None, *found]
    return [word for word, one, last in zip(words, found, before, strict=False)
            if one is None and (last is None or last["value"])]  # fmt: skip


def targets_in_folder(words: list[str]) -> Iterator[Target]:
    """Yield the files that are put into the last folder, or into the folder of an option."""
    files, folders = _split_folders(words)
    for folder in folders:
        for one in files:
            yield Target(f"{folder}/{base_name(one.rstrip('/'))}", inside=True, source=one)


def _split_folders(words: list[str]) -> tuple[list[str], list[str]]:
    """Return the files, and the folders into which they may be put."""
    files = [one for one in words if not one.startswith("-")]
    folders = [files.pop()] if files else []
    for at, word in enumerate(words):
        found = INTO.fullmatch(word) if word.startswith("-") else None
        if found is not None:
            files += folders[:1]
            folders += [found["folder"] or "", *words[at + 1 : at + 2]]
    return files, [*filter(None, folders)]


def _folder_targets(files: list[str]) -> Iterator[Target]:
    """Yield folders that are copied with all their files: as a folder, or only the files."""
    for one in files[:-1]:
        name = base_name(one.rstrip("/"))
        yield Target(files[-1], source=one)
        if name not in {"", ".", ".."}:
            yield Target(f"{files[-1]}/{name}", source=one)


OUR_NAME = "bylaw"
_FOR_CLIENTS = "only clients may run it: an agent must not send events in the name of its client"
_NAME = re.compile(r"\W.*", re.DOTALL)  # everything after the name of a variable
_WANTS_VALUE = re.compile(r"-[a-zA-Z0-9]+|--[a-z][a-z-]*")
_STARTERS = STARTS | {"xargs"}
_KNOWN = frozenset(
    {
        *(*_STARTERS, *CHANGES_FOLDER, *RUNS_TEXT, *SHELLS, *RUNS_OPTION),
        *(*READS, *READS_WITHOUT, *WRITES_SECOND, *WHOLE),
        *(*COPIES, *UNPACKS, *ADDRESSED),
        *("find", "git", "patch", "tee", "dd", "ln", OUR_NAME),
    }
)
CODE_WORD = re.compile(r"[^\s;{}'\"()|&<>=]+")


def option_values(option: re.Pattern[str], words: list[str]) -> Iterator[str]:
    """Yield the values of an option: its group `text`, or the next word."""
    for one, two in pairwise([*words, ""]):
        found = option.fullmatch(one)
        if found is not None:
            yield found["text"] or two


def shell_texts(words: list[str]) -> tuple[list[str], list[str]]:
    """Return the texts that a shell runs because of its options, and the arguments for them."""
    places = sorted(program_words(words))
    told = [words[at] for at in places]
    texts = [one.partition("=")[2] if one.startswith("--") else one for one in told]
    return texts, words[places[-1] + 1 :] if places else []


def is_known_program(word: str) -> bool:
    """Whether a word is the name of a program that is in the tables of this package."""
    name = base_name(word)
    return name in _KNOWN or bool(RUNS_CODE.fullmatch(name))


def start_positions(words: list[str], first: int) -> Iterator[int]:
    """Yield where the started program may be: at `first`, after the options, or further on.

    A word after an option may be the value of the option (`sudo -u NAME rm …`), and so may be an
    unknown word.
    """
    yield first
    for at in range(first, len(words)):
        if not is_known_program(words[at]):
            continue
        if at > first:
            yield at
        is_second = at == first and base_name(words[0]) in STARTS_SECOND
        may_be_value = is_second or _WANTS_VALUE.fullmatch(words[at - 1])
        if not may_be_value or base_name(words[at]) in _STARTERS:
            return  # a program that starts others checks its own arguments


def program_targets(program: str, words: list[str]) -> Iterator[Target]:
    """Yield the changes of a program, apart from those of programs that it starts."""
    if program == OUR_NAME:
        yield from _bylaw_targets(words)
        return
    if program in READS:
        return
    unless = READS_WITHOUT.get(program)
    valued = WRITES_SECOND.get(program)
    if valued is not None:
        files = [two for one, two in pairwise(["", *words])
                 if not two.startswith(("-", "+")) and not valued.fullmatch(one)]  # fmt: skip
        yield from (Target(one) for one in files[1:])
    elif unless is not None:
        yield from _sed_targets(words) if program in SED else ()
        yield from _targets_if_written(words, unless)
    elif program in COPIES:
        yield from copy_targets(words)
    elif program in UNPACKS:
        yield from unpack_targets(program, words)
    elif program == "mv":
        yield from move_targets(words)
    else:
        whole = program in WHOLE
        modes = program == "chmod" and any(STAYS_READABLE.fullmatch(one) for one in words)
        yield from (
            Target(one, whole=whole, modes=modes) for word in words for one in paths_in(word)
        )
        if program == "ln":
            yield from targets_in_folder(words)
        if program in ADDRESSED:
            yield from (Target(one) for word in words for one in re.split("[:,]", word))


def unknown_variables(words: list[str]) -> Iterator[str]:
    """Yield the variables to which a command gives unknown values."""
    program, rest = (words[0], words[1:]) if words else ("", [])
    options = [one for one in rest if one.startswith("-")]
    names = [_NAME.sub("", one) for one in rest if one[:1] not in {"-", ""}]
    if program in READS_VALUES:
        yield from names
    elif program in DECLARES and any("n" in one for one in options):
        yield from names  # with `declare -n`, each is another name of a variable
    elif program == "printf" and rest[:1] == ["-v"]:
        yield from names[:1]


def module_words(words: list[str]) -> list[str]:
    """Return the module that `python` runs, or the path of `bylaw`, with all words after it."""
    todo = iter(enumerate(words))
    for at, word in todo:
        module = MODULE.fullmatch(word)
        if module is not None:
            return [*filter(None, [module["name"]]), *words[at + 1 :]]
        if base_name(word) == OUR_NAME:
            return words[at:]
        if word in {"-W", "-X"}:
            next(todo, None)
        elif not MODULE_FLAGS.fullmatch(word):
            break
    return []


def _bylaw_targets(words: list[str]) -> Iterator[Target]:
    """Yield what a `bylaw` command may change, and commands that agents must not run.

    These commands also check themselves who runs them, but an agent may hide that.
    """
    verb = next((one for one in words if not one.startswith("-")), "")
    if verb == OUR_CLIENT_COMMAND and "--help" not in words:
        yield Target(f"{OUR_NAME} {verb}", why=_FOR_CLIENTS)
    wanted = OUR_PERSON_COMMANDS.get(verb)
    if wanted is not None and (not wanted or wanted.intersection(words)):
        yield Target(BYLAW_FOLDER)
    if verb == "context":
        reads = len(words) > 1 and words[1] in OUR_CONTEXT_READS
    else:
        reads = verb in OUR_READ_COMMANDS
    if not reads:
        yield from (Target(one) for word in words for one in paths_in(word))


def _sed_targets(words: list[str]) -> Iterator[Target]:
    for word in words:
        yield from (Target(one["file"].strip()) for one in SED_WRITES.finditer(word))


def _targets_if_written(words: list[str], unless: re.Pattern[str]) -> Iterator[Target]:
    if any(unless.fullmatch(one) for one in words):
        for word in words:
            yield from (Target(one) for one in (*paths_in(word), *CODE_WORD.findall(word)))
