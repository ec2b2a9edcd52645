"""Turns the task suites of the package `agentdojo` into tasks.jsonl, one task a line.

It runs where the package is installed, see `make agentdojo`. With --check nothing is written: it
fails if the file differs from what the package says.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

BENCHMARK = "v1.2.2"
SUITES = ("banking", "slack", "travel", "workspace")
TASKS = Path(__file__).parent / "tasks.jsonl"


def leave_models_out() -> None:
    """Let the suites be imported without the clients of models, which no ground truth needs."""
    found = importlib.util.find_spec("agentdojo")
    if found is None:
        sys.exit("the package agentdojo is not installed here; `make agentdojo` installs it")
    folder = Path(str(found.origin)).parent / "agent_pipeline"
    pipeline = ModuleType("agentdojo.agent_pipeline")
    pipeline.__path__ = [str(folder)]
    google = ModuleType("agentdojo.agent_pipeline.llms.google_llm")
    google.EMPTY_FUNCTION_NAME = ""
    for module in (pipeline, ModuleType("agentdojo.agent_pipeline.llms"), google):
        sys.modules[module.__name__] = module


def tasks_of(name: str) -> list[dict[str, Any]]:
    """All tasks of a suite: what is said, and the calls that do it."""
    from agentdojo.task_suite.load_suites import get_suite  # noqa: PLC0415 - after the line above

    suite = get_suite(BENCHMARK, name)
    users = [_task(name, "user", task, task.PROMPT, suite) for task in suite.user_tasks.values()]
    injections = [
        _task(name, "injection", task, task.GOAL, suite) for task in suite.injection_tasks.values()
    ]
    return [*sorted(users, key=_number), *sorted(injections, key=_number)]


def _task(suite_name: str, kind: str, task: Any, words: str, suite: Any) -> dict[str, Any]:
    environment = suite.load_and_inject_default_environment({})
    if kind == "user":
        environment = task.init_environment(environment)
    calls = [
        {"tool": call.function, "args": dict(call.args)} for call in task.ground_truth(environment)
    ]
    return {"suite": suite_name, "kind": kind, "task": task.ID, "words": words, "calls": calls}


def _number(task: dict[str, Any]) -> int:
    return int(task["task"].rpartition("_")[2])


def main() -> int:
    """Write the file, or compare it."""
    leave_models_out()
    tasks = [task for name in SUITES for task in tasks_of(name)]
    text = "".join(json.dumps(task, ensure_ascii=False) + "\n" for task in tasks)
    if "--check" not in sys.argv[1:]:
        TASKS.write_text(text, encoding="utf-8")
    elif text != TASKS.read_text(encoding="utf-8"):
        print(f"{TASKS.name} is not what the package says; run extract.py without --check")
        return 1
    print(f"{TASKS.name}: {len(tasks)} tasks of AgentDojo {BENCHMARK}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
