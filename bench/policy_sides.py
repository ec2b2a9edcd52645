"""A git repository with policies → what a stop check of either side finds in it, and costs.

Both sides work in the same repository: policies lie in `.deepwork/policies` for us and, with the
same text, in `.deepwork/rules` for them. Git ignores both, and all state.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from bylaw.engine.index import RuleSet
from bylaw.model.event import AgentStop
from bylaw.model.vocabulary import EntryStatus, Verdict
from bylaw.runtime.journal_access import open_journal
from bylaw.runtime.loader import load_root
from bylaw.runtime.loop import Loop
from bylaw.runtime.root import read_configuration
from bylaw.runtime.scripts import ScriptRunner
from bylaw.runtime.trust import Trust
from bylaw.store.journal.records import rules_with_texts
from bylaw.worktree.changes import WorkTree
from bylaw.worktree.policies import SESSION, WorkTreeHost
from bylaw.worktree.run import run_policies

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

BIN = Path(sys.executable).parent
STOP = json.dumps({"hook_event_name": "Stop", "session_id": "bench", "cwd": ""}).encode()
NOTHING = b"{}"
# The files on which each policy fired, by its name.
Findings: TypeAlias = dict[str, tuple[str, ...]]
_NO_BYTE_CODE = ("PYTHONDONTWRITEBYTECODE",)
_WHO = {f"GIT_{who}_{what}": "bench@bench" for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")}  # fmt: skip


class Place:
    """A repository; its remote has a branch `main`, unless somebody takes it away."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir()
        self.git("init", "-q", "-b", "main")
        (root / ".git/info/exclude").write_text("/.deepwork\n/.bylaw\n")

    def git(self, *arguments: str, data: bytes = b"") -> bytes:
        """What git prints."""
        return self._output(["git", *arguments], data)

    def begin(self, files: Mapping[str, str]) -> None:
        """The first commit, which the remote has, too; checked out."""
        parts = ["commit refs/heads/main\ncommitter b <b@b> 1700000000 +0000\ndata 0\n"]
        parts += [f'M 644 inline "{p}"\ndata {len(t.encode())}\n{t}\n' for p, t in files.items()]
        self.git("fast-import", "--quiet", data="".join(parts).encode())
        self.git("reset", "-q", "--hard")
        self.git("update-ref", "refs/remotes/origin/main", "HEAD")
        self.git("switch", "-q", "-c", "work")

    def write(self, files: Mapping[str, str]) -> None:
        """Change files in the work tree."""
        for path, text in files.items():
            file = self.root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)

    def lay_out(self, policies: Mapping[str, str]) -> None:
        """Put policies in place of those that are there."""
        for folder in (self.root / ".deepwork/policies", self.root / ".deepwork/rules"):
            folder.mkdir(parents=True, exist_ok=True)
            there = {path.stem: path for path in folder.iterdir()}
            for name in there.keys() - policies.keys():
                there[name].unlink()
            for name, text in policies.items():
                if name not in there or there[name].read_text() != text:
                    (folder / f"{name}.md").write_text(text)

    def ours(self) -> Findings:
        """A stop check in this process."""
        result = run_policies(str(self.root), None, _ignore, trust=True)
        fired = (one for one in result.entries if one.status is not EntryStatus.SKIPPED)
        return {one.policy_name: one.trigger_files for one in fired}

    def ours_quiet(self) -> None:
        """The same where nothing may need attention."""
        result = run_policies(str(self.root), None, _ignore, trust=False)
        if result.shown or result.diagnostics:
            raise SystemExit(f"a stop check fires: {result}")

    @contextmanager
    def ours_loaded(self) -> Iterator[Callable[[], None]]:
        """The same in a process that has the policies loaded, as a chat has."""
        root = str(self.root)
        configuration = read_configuration(root)
        books = load_root(root).governing
        rules, host = RuleSet(one.book for one in books), WorkTreeHost(root, _ignore)
        host.activate(rules, configuration.settings.command, Trust.for_one_run)
        with open_journal(root, configuration) as journal, ScriptRunner() as scripts:
            loop = Loop(host, rules, rules_with_texts(books), journal, scripts)

            def stop() -> None:
                [answer] = loop.take([AgentStop(session=SESSION)])
                if host.shown or answer.problem or answer.verdict is not Verdict.ALLOW:
                    raise SystemExit(f"a stop check fires: {answer}")

            yield stop

    def ours_cold(self) -> None:
        """The same as a process."""
        self._output([str(BIN / "bylaw"), "policies", "run"])

    def theirs(self) -> Findings:
        """A stop check of theirs; what it found lies in its queue."""
        self._output([str(BIN / "deepwork"), "hook", "rules_check"], STOP)
        entries = [json.loads(path.read_bytes()) for path in self._their_queue()]
        return {
            one["rule_file"].removesuffix(".md"): tuple(sorted(one["trigger_files"]))
            for one in entries
        }

    def theirs_quiet(self) -> None:
        """The same where nothing may need attention."""
        said = self._output([str(BIN / "deepwork"), "hook", "rules_check"], STOP)
        if said.strip() != NOTHING or any(self._their_queue()):
            raise SystemExit(f"deepwork fires: {said.decode()}")

    def capture(self) -> None:
        """A prompt is submitted, as we see it."""
        WorkTree(str(self.root)).capture()

    def status(self) -> None:
        """One `git status`."""
        self._output(["git", "status"])

    def _their_queue(self) -> list[Path]:
        return sorted((self.root / ".deepwork/tmp/rules/queue").glob("*.json"))

    def _output(self, command: list[str], data: bytes = b"") -> bytes:
        done = subprocess.run(
            command,
            cwd=self.root,
            input=data,
            capture_output=True,
            env=_environment(),
            check=True,
        )
        return done.stdout


def _environment() -> dict[str, str]:
    """An installed program has its byte code, whatever a checkout of it is told."""
    kept = {name: value for name, value in os.environ.items() if name not in _NO_BYTE_CODE}
    return {**kept, **_WHO, "PYTHONPYCACHEPREFIX": f"{os.environ['XDG_CACHE_HOME']}/byte-code"}


def _ignore(_words: str) -> None:
    pass
