"""A repository with policies, whose agent stops: the real language, journal, git and commands."""

from contextlib import contextmanager

from git_repository import Repository
from queueing import Folder

from bylaw.engine.index import RuleSet
from bylaw.languages import file_policies
from bylaw.languages.base import RuleFile
from bylaw.model.event import AgentStop, Message
from bylaw.model.source import SourceFile
from bylaw.model.vocabulary import Role
from bylaw.runtime.loader import make_book
from bylaw.runtime.loop import Loop
from bylaw.runtime.scripts import ScriptRunner
from bylaw.runtime.settings import CommandSettings
from bylaw.runtime.trust import Trust
from bylaw.store.journal.journal import Journal
from bylaw.store.journal.records import NO_RULES, read_effects
from bylaw.worktree.policies import SESSION, WorkTreeHost


class World:
    """A repository whose first commit has these files; its journal lies beside it."""

    def __init__(self, path, *, made=True, **files):
        self.repository = Repository(path / "repository", made=made)
        self.root = self.repository.path
        self.journal = path / "journal.db"
        self.notes = []
        self.trust = Trust.for_one_run
        self.settings = CommandSettings(timeout_s=300)
        self.redacted = str
        self.texts = {}
        self.queue = Folder(self.root)
        if made:
            self._begin({"first": "", ".gitignore": "log\n*.sh\n", **files})

    def _begin(self, files):
        for name, text in files.items():
            self.repository.write(name, text)
        self.repository.commit()
        self.repository.git("switch", "-q", "-c", "work")

    def policy(self, name, front, body=""):
        self.texts[name] = f"---\n{front}\n---\n{body}\n"
        return self

    def command(self, command, trigger="'**/*.py'", name="tidy", **more):
        """A policy with a command; `sh:` stands for a script in a file."""
        if command.startswith("sh:"):
            script = self.root / f"{name}.sh"
            text = f'echo "$1" >> log\n{command.removeprefix("sh:")}\n'
            # Another process may run it just now, and must not find it empty.
            if not script.exists() or script.read_text() != text:
                script.write_text(text)
            command = f"sh {name}.sh {{file}}"
        keys = "".join(f"\n  {key}: {value}" for key, value in more.items())
        return self.policy(name, f"trigger: {trigger}\naction:\n  command: '{command}'{keys}")

    @property
    def ran(self):
        """For which files scripts ran, in that order."""
        log = self.root / "log"
        return log.read_text().split() if log.exists() else []

    @contextmanager
    def open(self):
        """The host and its loop."""
        files = [
            RuleFile(SourceFile(f".deepwork/policies/{name}.md", text), name)
            for name, text in self.texts.items()
        ]
        loaded = file_policies.load(files)
        assert not loaded.diagnostics, loaded.diagnostics
        texts = {file.path: file for file in files}
        books = [make_book(file_policies, (), texts, loaded.groups, {}).book] if files else []
        rules = RuleSet(books)
        host = WorkTreeHost(str(self.root), self.notes.append)
        host.activate(rules, self.settings, self.trust, self.redacted)
        with Journal(str(self.journal)) as journal, ScriptRunner() as scripts:
            yield host, Loop(host, rules, NO_RULES, journal, scripts)

    def submit(self, event):
        with self.open() as (host, loop):
            [answer] = loop.take([event])
            self.shown = host.shown
            self.processes = host.tree.processes
            self.effects = [
                *read_effects(loop.journal, answer.event.session, answer.event.seq),
            ]
        return answer

    def stop(self):
        """What becomes of a stop, in its last round."""
        answer = self.submit(AgentStop(session=SESSION))
        return answer.again or answer

    def say(self, text):
        return self.submit(Message(session=SESSION, role=Role.ASSISTANT, text=text))

    def held(self):
        """The one entry."""
        [name] = self.queue.names
        return self.queue.held(name)
