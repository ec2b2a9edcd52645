"""Tables of programs: what they do to the files in their arguments.

An unknown program may change every file that it is given.
"""

from __future__ import annotations

import re

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
PASSES_OVER = re.compile(r"--exclude(?P<value>=.*)?", re.DOTALL)
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
GOES = frozenset({"cd", "pushd", "chdir"})
DECLARES = frozenset({"export", "declare", "local", "readonly", "typeset"})
HEARS = frozenset({"read", "mapfile", "readarray", "getopts", "let"})
# Those of them that read lines, and the variable that they use if they name none.
HEARS_LINES = {"read": "REPLY", "mapfile": "MAPFILE", "readarray": "MAPFILE"}
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
TAKES_AWAY = re.compile(r"rmtree|rmSync|rm_rf|rm_r|rmdir|remove_tree|removeSync|rimraf|unlink")
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
GIT_TRIED = re.compile(r"-[a-zA-Z]*n[a-zA-Z]*|--dry-run")
GIT_ALL = re.compile(r"-[a-zA-Z]*a[a-zA-Z]*|--all")
# Options that have a value: the source of files, files to skip, a message.
GIT_SOURCE = re.compile(r"(?:-s|--source)(?:=?(?P<value>.+))?")
GIT_PASSED_OVER = re.compile(r"(?:-[a-zA-Z]*?e|--exclude)(?:=?(?P<value>.+))?")
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
GIT_ASKS = re.compile(r"--get.*|--list|-l|get|list")

# Commands of Bylaw that do not change the files in their arguments, or check who runs them.
OUR_READS = frozenset(
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
OUR_PEOPLES: dict[str, frozenset[str]] = {
    "trust": frozenset(),
    "approve": frozenset(),
    "uninstall": frozenset(),
    "rules": frozenset({"enable", "disable"}),
    "journal": frozenset({"purge"}),
    "doctor": frozenset({"--release"}),
}
# The command that is only for clients: it sends events in the name of one.
OUR_CLIENTS = "hook"
OUR_CONTEXT_READS = frozenset({"check", "call", "state", "render", "repl"})
