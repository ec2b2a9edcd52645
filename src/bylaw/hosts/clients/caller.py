"""Recognise whether a coding agent runs this process.

Commands that only a person may use are refused then. This check can be bypassed: a process with the
rights of the user can hide what started it, or open a terminal of its own.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from bylaw.model.errors import BylawError
from bylaw.store.system import ancestors

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from bylaw.store.system import ProcessInfo


class Agent(NamedTuple):
    """A coding agent: the variables it sets, and the names of its programs and packages."""

    name: str
    variables: tuple[str, ...]
    programs: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()


AGENTS = (
    Agent(
        "Claude Code",
        ("CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_ENTRYPOINT"),
        ("claude",),
        ("@anthropic-ai/claude-code", "@anthropic-ai/claude-agent-sdk"),
    ),
    Agent(
        "Codex",
        ("CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_THREAD_ID", "CODEX_CI"),
        ("codex",),
        ("@openai/codex",),
    ),
    # Before Gemini CLI, because Qwen Code sets some of its variables as well.
    Agent(
        "Qwen Code",
        ("QWEN_CODE", "QWEN_CODE_SESSION_ID", "QWEN_PROJECT_DIR"),
        ("qwen",),
        ("@qwen-code/qwen-code",),
    ),
    Agent(
        "Gemini CLI",
        ("GEMINI_CLI", "GEMINI_SESSION_ID", "GEMINI_PROJECT_DIR"),
        ("gemini",),
        ("@google/gemini-cli",),
    ),
    Agent("Copilot", ("COPILOT_CLI", "COPILOT_PROJECT_DIR"), ("copilot",), ("@github/copilot",)),
    Agent("Droid", ("FACTORY_PROJECT_DIR", "DROID_PROJECT_DIR"), ("droid",), ("@factory/cli",)),
    Agent("OpenCode", ("OPENCODE",), ("opencode",), ("opencode-ai",)),
    Agent("Cursor", ("CURSOR_AGENT", "CURSOR_PROJECT_DIR"), ("cursor-agent",)),
    Agent("a coding agent", ("AI_AGENT", "AGENT", "CLAUDE_PROJECT_DIR")),
)

_RUNS_SCRIPTS = re.compile(r"node|nodejs|bun|deno|python[0-9.]*|sh|bash|dash|zsh")
_PACKAGE = re.compile(r"/node_modules/(@[^/]+/[^/]+|[^/@]+)/")
_ENDING = re.compile(r"\.[cm]?js$|\.py$")


def require_person(what: str) -> None:
    """Raise BylawError if an agent runs this process; `what` names the operation."""
    why = agent_of_environment(os.environ) or agent_of_ancestors(ancestors())
    if why:
        raise BylawError(f"{what} needs a person, but an agent is running here: {why}")


def agent_of_environment(environment: Mapping[str, str]) -> str:
    """Return in words which variable of an agent is set; empty if there is none."""
    for agent in AGENTS:
        for variable in agent.variables:
            if environment.get(variable):
                return f"`{variable}` is set, as {agent.name} does"
    return ""


def agent_of_ancestors(processes: Iterable[tuple[ProcessInfo, tuple[str, ...]]]) -> str:
    """Return in words which process is an agent; empty if there is none."""
    for info, words in processes:
        names, package = _process_names(info.name, words)
        for agent in AGENTS:
            if names & set(agent.programs) or package in agent.packages:
                return f"process {info.pid}, an ancestor of this one, is {agent.name}"
    return ""


def _process_names(name: str, words: tuple[str, ...]) -> tuple[set[str], str]:
    """Return the names of a process, and the package that contains its script."""
    program = _file_name(words[0]) if words else name
    script = ""
    if _RUNS_SCRIPTS.fullmatch(program):
        script = next((word for word in words[1:] if not word.startswith("-")), "")
    package = _PACKAGE.search(script or (words[0] if words else ""))
    return {name, program, _ENDING.sub("", _file_name(script))}, package[1] if package else ""


def _file_name(path: str) -> str:
    return path.rpartition("/")[2]
