"""Print figures about the source: sizes, imports, complexity, and what a decision costs.

    python tools/house.py [--json] [FOLDER]

FOLDER is a checkout, or its folder `src`. Default: the checkout of this file. Other checkouts work
as well, because the measured part knows only the command line of Bylaw.

- A file counts as run if one of its functions was called. Code at module level does not count.
- A cross-file call is a call from a function in one of our files to a function in another one.
- Calls that one of our modules makes while it loads are left out of "decision only". They build
  tables, and nobody has to read them to follow a decision.
- The denied hook is the second one in a repository, so its state folder exists. The entry point
  and its child process count together.
- An import cycle counts if all its imports run at load time. Imports inside functions and below
  `if TYPE_CHECKING` do not count.
- Complexity is measured by ruff (C901). `noqa` comments are ignored.
"""

from __future__ import annotations

import argparse
import ast
import atexit
import inspect
import json
import os
import re
import runpy
import statistics
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from types import FrameType

PACKAGE = "bylaw"
LIMIT = 10  # functions above this complexity are counted
_PROBE = "--probe"

# One event for each language: name of the rule file, its text, the event.
EVENTS = {
    "chatmd": (
        "push.chatmd",
        """<rules>
  <on id="no-force" event="pre_tool_call" tool="shell" if='arg("command") == "git push --force"'>
    <deny reason="Ask a person."/>
  </on>
</rules>
""",
        {"kind": "tool.before", "tool": "shell", "args": {"command": "git push --force"}},
    ),
    "toml": (
        "turns.toml",
        """[rule]
id = "turns"
name = "Turns"
description = "Asks for a report"
trigger = "on_turn_start"

[condition]
expression = "context.turn.iteration_count >= 0"

[action]
type = "notify_self"
message = "You have worked for {{ context.turn.iteration_count }} turns."
category = "reminder"
priority = "high"
""",
        {"kind": "turn.start"},
    ),
    "context": (
        "modes.md",
        """[[MODULE]]
name: modes
description: Modes of work.

[[STATE]]
name: mode
type: String
[[/STATE]]

[[COMMAND]]
name: setmode
args:
  kind: positional
  positional:
    - {name: value, type: String}
effects:
  set_state:
    - {name: mode, value: "$arg0"}
[[/COMMAND]]
[[/MODULE]]
""",
        {"kind": "prompt", "text": '/setmode("design")'},
    ),
    "law": (
        "one.yaml",
        """rule_id: R-ONE
priority: 1
trigger: {kind: bus_input}
guards: {category_in: [A]}
actions:
  - {type: write_bus, channel: output, template: "received {{title}}"}
""",
        {
            "kind": "bus",
            "message": {
                "msg_id": "20240116_120000_cursor_fix-lint",
                "msg_type": "command",
                "command_type": "exec",
                "phase": 2,
                "category": "A",
                "title": "Fix lint",
                "target_paths": ["src/a.ts"],
                "origin_ref": "src/a.ts",
                "created_by": "cursor",
                "notes": "",
            },
            "facts": {"phase": 2, "allowed_roots": ["src"]},
        },
    ),
    "file policies": (
        ".deepwork/policies/readme.md",
        """---
trigger: "src/**/*.py"
safety: README.md
---
Check that README.md is still right.
""",
        {
            "kind": "agent.stop",
            "facts": {
                "changes": {
                    "base": {
                        "ref": "abc123",
                        "files": [{"path": "src/a.py", "status": "modified", "digest": "d1"}],
                    }
                },
                "entries": {},
            },
            "round": 2,
        },
    ),
}

# What the answer to each event must contain, so that a figure is never that of a failure.
_EXPECTED = {
    "chatmd": '"verdict":"deny"',
    "toml": "You have worked",
    "context": '"design"',
    "law": "received Fix lint",
    "file policies": "Check that README.md is still right.",
}

_SETTINGS = '[[book]]\npath = "push.chatmd"\n'


@dataclass(frozen=True, slots=True)
class Process:
    """What one process ran of our source."""

    is_child: bool
    files: frozenset[str]
    calls: int
    deciding_files: frozenset[str]  # without calls that a module makes while it loads
    deciding_calls: int
    modules: frozenset[str]


@dataclass(frozen=True, slots=True)
class Job:
    """What one command ran of our source, with the processes that it forked."""

    output: str
    processes: tuple[Process, ...]

    @property
    def files(self) -> frozenset[str]:
        """Files with a function that was called."""
        return frozenset().union(*(each.files for each in self.processes))

    @property
    def calls(self) -> int:
        """Calls from one of our files into another."""
        return sum(each.calls for each in self.processes)

    @property
    def deciding_files(self) -> frozenset[str]:
        """The same without calls that a module makes while it loads."""
        return frozenset().union(*(each.deciding_files for each in self.processes))

    @property
    def deciding_calls(self) -> int:
        """The same without calls that a module makes while it loads."""
        return sum(each.deciding_calls for each in self.processes)

    @property
    def modules(self) -> frozenset[str]:
        """Modules that were imported."""
        return frozenset().union(*(each.modules for each in self.processes))

    @property
    def entry_point(self) -> Process:
        """The process that was started."""
        return next(each for each in self.processes if not each.is_child)

    @property
    def child(self) -> Process:
        """The one process that it forked."""
        (child,) = (each for each in self.processes if each.is_child)
        return child


@dataclass(slots=True)
class Figures:
    """All figures. A measured one is None if the command failed."""

    files: int = 0
    lines: int = 0
    median_file: float = 0
    largest_file: str = ""
    largest_file_lines: int = 0
    functions: int = 0
    median_function: float = 0
    p90_function: int = 0
    import_lines: int = 0
    import_cycles: list[list[str]] = field(default_factory=list)
    complex_functions: int = 0
    worst_complexity: int = 0
    worst_function: str = ""
    events: dict[str, dict[str, int] | None] = field(default_factory=dict)
    denied_hook: dict[str, int] | None = None


def main() -> int:
    """Print the figures of a checkout."""
    if sys.argv[1:2] == [_PROBE]:
        _run_probe(Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:])
    parser = argparse.ArgumentParser(description="Print figures about the source.")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "folder",
        nargs="?",
        type=Path,
        default=Path(__file__).parents[1],
        help="a checkout, or its folder src; default: this checkout",
    )
    options = parser.parse_args()
    source = find_source(options.folder)
    if source is None:
        parser.error(f"no {PACKAGE}/__init__.py in {options.folder} or {options.folder}/src")
    figures = static_figures(source)
    measure(source, figures)
    print(json.dumps(asdict(figures), indent=2) if options.json else _table(figures))
    return 0


def find_source(folder: Path) -> Path | None:
    """Return the folder that has our package, None if neither FOLDER nor FOLDER/src has it."""
    for one in (folder, folder / "src"):
        if (one / PACKAGE / "__init__.py").is_file():
            return one.resolve()
    return None


# Static figures


def static_figures(source: Path) -> Figures:
    """Return the figures that need no run."""
    figures = Figures()
    lines: dict[str, int] = {}
    functions: list[int] = []
    trees: dict[str, ast.Module] = {}
    for path in source_files(source):
        name = path.relative_to(source / PACKAGE).as_posix()
        text = path.read_text(encoding="utf-8")
        tree = trees[name] = ast.parse(text)
        lines[name] = len(text.splitlines())
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                functions.append(_length(node))
            elif isinstance(node, ast.Import | ast.ImportFrom):
                figures.import_lines += _length(node)
    figures.files = len(lines)
    figures.lines = sum(lines.values())
    figures.median_file = statistics.median(lines.values())
    figures.largest_file = max(lines, key=lines.__getitem__)
    figures.largest_file_lines = lines[figures.largest_file]
    figures.functions = len(functions)
    figures.median_function = statistics.median(functions)
    figures.p90_function = round(statistics.quantiles(functions, n=10)[-1])
    figures.import_cycles = import_cycles(trees)
    found = complexities(source)
    figures.complex_functions = sum(complexity > LIMIT for complexity, _ in found)
    figures.worst_complexity, figures.worst_function = max(found, default=(0, ""))
    return figures


def source_files(source: Path) -> list[Path]:
    """Return all Python files of the package."""
    return sorted((source / PACKAGE).rglob("*.py"))


def _length(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def complexities(source: Path) -> list[tuple[int, str]]:
    """Return the complexity and the place of all functions, as ruff measures it."""
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--ignore-noqa"]
    command += ["--select", "C901", "--config", "lint.mccabe.max-complexity=0"]
    command += ["--output-format", "json", str(source / PACKAGE)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr)
    found = []
    for each in json.loads(done.stdout):
        name, complexity = re.search(r"`(.+)` is too complex \((\d+) ", each["message"]).groups()  # type: ignore[union-attr]
        path = Path(each["filename"]).relative_to(source / PACKAGE).as_posix()
        found.append((int(complexity), f"{path}:{each['location']['row']} {name}"))
    return found


def import_cycles(trees: dict[str, ast.Module]) -> list[list[str]]:
    """Return the groups of modules that import each other while they load."""
    modules = {_module_name(path): (path, tree) for path, tree in trees.items()}
    graph = {
        name: {one for one in _loaded_imports(name, path, tree, modules) if one != name}
        for name, (path, tree) in modules.items()
    }
    return sorted(sorted(group) for group in _components(graph) if len(group) > 1)


def _module_name(path: str) -> str:
    parts = [PACKAGE, *path.removesuffix(".py").split("/")]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _loaded_imports(
    name: str, path: str, tree: ast.Module, modules: dict[str, tuple[str, ast.Module]]
) -> Iterator[str]:
    """Yield the modules of ours that a module imports by name while it loads."""
    package = name if path.endswith("__init__.py") else name.rpartition(".")[0]
    for node in _loaded(tree.body):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name in modules)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*parents, *filter(None, [node.module])])
            for each in node.names:
                found = next((n for n in (f"{base}.{each.name}", base) if n in modules), None)
                if found:
                    yield found


def _loaded(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that run when a module loads."""
    for node in body:
        yield node
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from _loaded(node.orelse)
        elif isinstance(node, ast.If | ast.Try | ast.With | ast.ClassDef):
            for part in ("body", "orelse", "finalbody"):
                yield from _loaded(getattr(node, part, ()))
            for handler in getattr(node, "handlers", ()):
                yield from _loaded(handler.body)


def _components(graph: dict[str, set[str]]) -> Iterator[set[str]]:
    """Yield the strongly connected components: what is reachable in both directions."""
    backward: dict[str, set[str]] = {name: set() for name in graph}
    for name, imported in graph.items():
        for one in imported:
            backward[one].add(name)
    left = set(graph)
    while left:
        start = min(left)
        group = _reachable(start, graph) & _reachable(start, backward)
        yield group
        left -= group


def _reachable(start: str, graph: dict[str, set[str]]) -> set[str]:
    seen = {start}
    waiting = [start]
    while waiting:
        new = graph[waiting.pop()] - seen
        seen |= new
        waiting += new
    return seen


# Measured figures


def measure(source: Path, figures: Figures) -> None:
    """Run one event of each language and a denied hook, and add their figures."""
    for language in EVENTS:
        job = decide_event(source, language)
        figures.events[language] = _run_figures(job) if job is not None else None
    hook = deny_hook(source)
    if hook is not None:
        figures.denied_hook = {
            **_run_figures(hook),
            "modules": len(hook.modules),
            "entry_point_modules": len(hook.entry_point.modules),
            "child_modules": len(hook.child.modules),
        }


def _run_figures(job: Job) -> dict[str, int]:
    return {
        "files": len(job.files),
        "calls": job.calls,
        "deciding_files": len(job.deciding_files),
        "deciding_calls": job.deciding_calls,
    }


def decide_event(source: Path, language: str) -> Job | None:
    """Let `bylaw decide` decide the event of a language. None if it answers something else."""
    name, text, event = EVENTS[language]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "root", name)
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
        arguments = ["decide", "--rules", name]
        job = run(source, arguments, json.dumps(event), Path(folder, "root"), folder)
    return job if _EXPECTED[language] in job.output else None


def deny_hook(source: Path) -> Job | None:
    """Let `bylaw hook` deny `git push --force`, twice. Return the second job, None on failure."""
    name, text, _ = EVENTS["chatmd"]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "root")
        (root / ".git").mkdir(parents=True)
        (root / name).write_text(text, encoding="utf-8")
        (root / "bylaw.toml").write_text(_SETTINGS, encoding="utf-8")
        for call in ("one", "two"):
            payload = {
                "session_id": "s",
                "transcript_path": str(Path(folder, "transcript.jsonl")),
                "cwd": str(root),
                "hook_event_name": "PreToolUse",
                "tool_name": "Bash",
                "tool_use_id": call,
                "tool_input": {"command": "git push --force"},
            }
            job = run(source, ["hook", "claude", "PreToolUse"], json.dumps(payload), root, folder)
    is_denied = '"deny"' in job.output and "Ask a person." in job.output
    return job if is_denied else None


def run(source: Path, arguments: Sequence[str], text: str, folder: Path, home: str) -> Job:
    """Run `bylaw ARGUMENTS` of a source folder in FOLDER, with TEXT as standard input."""
    with tempfile.TemporaryDirectory() as place:
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "PYTHONPATH": str(source),
            "BYLAW_RESIDENT": "0",
            **dict.fromkeys(("HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"), home),
        }
        reports = Path(place, "reports")
        reports.mkdir()
        command = [sys.executable, __file__, _PROBE, str(reports), str(source), *arguments]
        done = subprocess.run(  # noqa: S603
            command,
            check=False,
            capture_output=True,
            text=True,
            input=text,
            cwd=folder,
            env=environment,
            timeout=120,
        )
        found = [json.loads(path.read_text()) for path in sorted(reports.iterdir())]
    processes = tuple(
        Process(
            is_child=each["is_child"],
            files=frozenset(each["files"]),
            calls=each["calls"],
            deciding_files=frozenset(each["deciding_files"]),
            deciding_calls=each["deciding_calls"],
            modules=frozenset(each["modules"]),
        )
        for each in found
    )
    return Job(done.stdout + done.stderr, processes)


def _run_probe(reports: Path, source: Path, arguments: list[str]) -> NoReturn:
    """Run our command line in this process, and report what it ran. Forked processes report too."""
    prefix = f"{source / PACKAGE}{os.sep}"
    files: set[str] = set()
    deciding_files: set[str] = set()
    calls = {"calls": 0, "deciding_calls": 0}
    loading = 0  # the number of our modules that are being loaded
    started = os.getpid()

    def profile(frame: FrameType, event: str, _: object) -> None:
        nonlocal loading
        code = frame.f_code
        here = code.co_filename
        if event not in ("call", "return") or not here.startswith(prefix):
            return
        if code.co_name == "<module>" and frame.f_globals["__name__"] != "__main__":
            loading += 1 if event == "call" else -1
        if event == "return" or not code.co_flags & inspect.CO_OPTIMIZED:
            return  # a module or a class body is not a function
        back = frame.f_back
        there = back.f_code.co_filename if back is not None else here
        is_cross = there != here and there.startswith(prefix)
        files.add(here)
        calls["calls"] += is_cross
        if not loading:
            deciding_files.add(here)
            calls["deciding_calls"] += is_cross

    def report() -> None:
        sys.setprofile(None)
        made = {
            "is_child": os.getpid() != started,
            "files": sorted(each.removeprefix(prefix) for each in files),
            "deciding_files": sorted(each.removeprefix(prefix) for each in deciding_files),
            **calls,
            "modules": sorted(n for n in sys.modules if n.split(".")[0] == PACKAGE),
        }
        (reports / f"{os.getpid()}.json").write_text(json.dumps(made), encoding="utf-8")

    def forget() -> None:
        files.clear()
        deciding_files.clear()
        calls.update(dict.fromkeys(calls, 0))

    os.register_at_fork(after_in_child=forget)
    os._exit = _reporting(report, os._exit)  # type: ignore[assignment]
    atexit.register(report)
    sys.path[0] = str(source)
    sys.argv = [PACKAGE, *arguments]
    sys.setprofile(profile)
    runpy.run_module(PACKAGE, run_name="__main__", alter_sys=True)
    raise SystemExit(0)


def _reporting(report: Callable[[], None], leave: Callable[[int], NoReturn]) -> object:
    """Return an `os._exit` that reports first."""

    def report_and_leave(status: int) -> NoReturn:
        report()
        leave(status)

    return report_and_leave


# The table


def _table(figures: Figures) -> str:
    rows = [
        ("files", f"{figures.files:,}"),
        ("lines", f"{figures.lines:,}"),
        ("median file, lines", f"{figures.median_file:g}"),
        ("largest file, lines", f"{figures.largest_file_lines:,} ({figures.largest_file})"),
        ("functions", f"{figures.functions:,}"),
        (
            "function, median / 90th percentile, lines",
            f"{figures.median_function:g} / {figures.p90_function}",
        ),
        ("import lines", f"{figures.import_lines:,}"),
        ("import cycles at load time", str(len(figures.import_cycles))),
        *(("", " ".join(each)) for each in figures.import_cycles),
        (f"functions above complexity {LIMIT}", str(figures.complex_functions)),
        ("worst complexity", f"{figures.worst_complexity} ({figures.worst_function})"),
    ]
    for language, found in figures.events.items():
        rows += _run_rows(f"event of {language}", found)
    hook = figures.denied_hook
    rows += _run_rows("denied hook", hook)
    if hook is not None:
        rows += [
            ("denied hook: our modules imported", str(hook["modules"])),
            (
                "denied hook: modules of the entry point / of the child",
                f"{hook['entry_point_modules']} / {hook['child_modules']}",
            ),
        ]
    width = max(len(label) for label, _ in rows) + 2
    return "\n".join(f"{label:<{width}}{value}" for label, value in rows)


def _run_rows(job: str, found: dict[str, int] | None) -> list[tuple[str, str]]:
    if found is None:
        return [(job, "failed")]
    return [
        (f"{job}: files run / cross-file calls", f"{found['files']} / {found['calls']:,}"),
        (
            f"{job}: the same, decision only",
            f"{found['deciding_files']} / {found['deciding_calls']:,}",
        ),
    ]


if __name__ == "__main__":
    sys.exit(main())
