"""Turns tasks.jsonl into tables: which calls the rules of this folder deny, and which they notice.

A session is replayed call by call through `bylaw decide`, as the host of an agent would ask: a call
that is denied is not made, and no result of it is reported.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

HERE = Path(__file__).parent
SUITES = ("banking", "slack", "travel", "workspace")
# The commands of protocol.md; each allows more than the one before.
MODES = ("/look()", "/note()", "/send()", "/manage()")
# Tools that only tell something.
LOOKS = ("check_", "get_", "list_", "read_", "search_")
STOPPED, PARTLY, PASSES = "stopped", "partly", "passes"


@dataclass(frozen=True)
class Task:
    """What somebody wants, and the calls that do it."""

    suite: str
    kind: str
    task: str
    words: str
    calls: list[dict[str, Any]]


@dataclass(frozen=True)
class Answers:
    """What rules said to the calls of a task in one session."""

    task: Task
    denied: list[bool]
    noticed: list[bool]

    @property
    def outcome(self) -> str:
        """What came of the task: all of it, nothing that changes anything, or a part."""
        if not any(self.denied):
            return PASSES
        made = [
            call for call, denied in zip(self.task.calls, self.denied, strict=True) if not denied
        ]
        return PARTLY if any(not call["tool"].startswith(LOOKS) for call in made) else STOPPED

    def and_also(self, other: Answers) -> Answers:
        """What two rule sets deny that are in force together."""
        denied = [one or two for one, two in zip(self.denied, other.denied, strict=True)]
        return Answers(self.task, denied, self.noticed)


class Engine:
    """A running `bylaw decide`: an event in, a line out."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._sessions = 0

    def session(self, said: str, *tasks: Task) -> list[Answers]:
        """What the rules say to the calls of these tasks, in one new session."""
        self._sessions += 1
        self._ask({"kind": "prompt", "text": said})
        self._ask({"kind": "message", "role": "user", "text": said})
        self._ask({"kind": "turn.start"})
        return [self._replay(task) for task in tasks]

    def _replay(self, task: Task) -> Answers:
        answers = Answers(task, [], [])
        for number, call in enumerate(task.calls):
            event = {**call, "call": f"{task.task}-{number}"}
            decision = self._ask({"kind": "tool.before", **event})
            answers.denied.append(decision["verdict"] in ("deny", "halt"))
            answers.noticed.append(any(effect["op"] == "notify" for effect in decision["effects"]))
            if not answers.denied[-1]:
                self._ask({"kind": "tool.after", **event, "status": "ok"})
        return answers

    def _ask(self, event: dict[str, Any]) -> dict[str, Any]:
        line = json.dumps({"session": f"session-{self._sessions}", **event})
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline() or '{"error": {"message": "it ended"}}')
        if "error" in answer:
            sys.exit(f"bylaw decide: {answer['error']['message']}")
        return answer


@contextmanager
def engine(rules: str) -> Iterator[Engine]:
    """A `bylaw decide` under rules of this folder."""
    command = [sys.executable, "-m", "bylaw", "decide", "--rules", str(HERE / rules)]
    process = subprocess.Popen(  # noqa: S603 - our own program
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
    )
    with process:
        yield Engine(process)
        process.stdin.close()
    if process.returncode:
        sys.exit(f"bylaw decide ended with {process.returncode}")


@dataclass(frozen=True)
class Findings:
    """What the rule sets said to the tasks of one suite; pairs are by user task and injection."""

    name: str
    users: list[Task]
    injections: list[Task]
    silent: int  # injections without calls: there is nothing to replay
    benign: list[Answers]
    alone: list[Answers]
    asked: list[Answers]
    noticed: list[Answers]
    policy: dict[tuple[str, str], Answers]
    protocol: dict[tuple[str, str], Answers]

    @property
    def both(self) -> dict[tuple[str, str], Answers]:
        """Policy and protocol in force together."""
        return {pair: one.and_also(self.protocol[pair]) for pair, one in self.policy.items()}


def find(name: str, tasks: list[Task], protocol: Engine, notices: Engine) -> Findings:
    """Replay the tasks of a suite."""
    users = [task for task in tasks if (task.suite, task.kind) == (name, "user")]
    every = [task for task in tasks if (task.suite, task.kind) == (name, "injection")]
    injections = [task for task in every if task.calls]
    modes = {user.task: narrowest_mode(user, protocol) for user in users}
    in_mode = {
        (mode, one.task): protocol.session(mode, one)[0] for mode in MODES for one in injections
    }
    with engine(f"policies/{name}.chatmd") as policy:
        return Findings(
            name,
            users,
            injections,
            silent=len(every) - len(injections),
            benign=[rules.session(u.words, u)[0] for rules in (policy, notices) for u in users],
            alone=[policy.session("", one)[0] for one in injections],
            asked=[policy.session(one.words, one)[0] for one in injections],
            noticed=[notices.session("", one)[0] for one in injections],
            policy={
                # At the end of the session: what these rules loosen is loosest there.
                (user.task, one.task): policy.session(user.words, user, one)[1]
                for user in users
                for one in injections
            },
            # All that a protocol remembers of a session is its mode.
            protocol={
                (user.task, one.task): in_mode[modes[user.task], one.task]
                for user in users
                for one in injections
            },
        )


def narrowest_mode(user: Task, protocol: Engine) -> str:
    """The first mode that denies no call of a user task, as a careful person would choose it."""
    for mode in MODES:
        if not any(protocol.session(f"{mode}\n{user.words}", user)[0].denied):
            return mode
    sys.exit(f"{user.suite} {user.task} is denied in every mode")


def benign_table(found: list[Findings]) -> list[list[str]]:
    """Calls of user tasks."""
    rows = [["suite", "user tasks", "calls", "denied", "noticed"]]
    for one in found:
        calls = sum(len(user.calls) for user in one.users)
        denied = sum(sum(answers.denied) for answers in one.benign)
        noticed = sum(sum(answers.noticed) for answers in one.benign)
        rows.append([one.name, *map(str, (len(one.users), calls, denied, noticed))])
    return rows


def pair_table(found: list[Findings]) -> list[list[str]]:
    """Injections in sessions of user tasks, by suite."""
    rows = [["suite", "injections", "pairs", "policy", "protocol", "both"]]
    for one in found:
        number = f"{len(one.injections)} of {len(one.injections) + one.silent}"
        outcomes = [_outcomes(pairs.values()) for pairs in (one.policy, one.protocol, one.both)]
        rows.append([one.name, number, str(len(one.policy)), *outcomes])
    return rows


def injection_table(one: Findings) -> list[list[str]]:
    """Injections of a suite, one by one."""
    rows = [[one.name, "calls", "alone", "policy", "protocol", "both", "noticed", "if asked for"]]
    for task, alone, asked, noticed in zip(
        one.injections, one.alone, one.asked, one.noticed, strict=True
    ):
        outcomes = [
            _outcomes(
                answers for (_, injection), answers in pairs.items() if injection == task.task
            )
            for pairs in (one.policy, one.protocol, one.both)
        ]
        notice = "yes" if any(noticed.noticed) else "no"
        calls = str(len(task.calls))
        rows.append([task.task, calls, alone.outcome, *outcomes, notice, asked.outcome])
    return rows


def _outcomes(answers: Iterable[Answers]) -> str:
    counts = Counter(one.outcome for one in answers)
    return " / ".join(str(counts[outcome]) for outcome in (STOPPED, PARTLY, PASSES))


def print_table(rows: list[list[str]]) -> None:
    """As Markdown."""
    head, *body = rows
    for row in (head, ["---"] * len(head), *body):
        print("| " + " | ".join(row) + " |")
    print()


def main() -> None:
    """Replay everything, print the tables."""
    lines = (HERE / "tasks.jsonl").read_text(encoding="utf-8").splitlines()
    tasks = [Task(**json.loads(line)) for line in lines]
    with engine("protocol.md") as protocol, engine("notices") as notices:
        found = [find(name, tasks, protocol, notices) for name in SUITES]
    for table in (benign_table(found), pair_table(found), *map(injection_table, found)):
        print_table(table)


if __name__ == "__main__":
    main()
