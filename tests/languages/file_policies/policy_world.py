"""A work tree and a queue in memory: what policies ask for, and what their steps do to it."""

from dataclasses import dataclass, field

from driving import DONE, Driven
from msgspec import UNSET
from msgspec.structs import replace

from bylaw.engine.plan import StepOutcome
from bylaw.languages import file_policies
from bylaw.languages.base import RuleFile
from bylaw.languages.file_policies.evaluation import content_digest
from bylaw.model.decision import OPEN_ENTRIES, NeedName
from bylaw.model.effects import CommandRun, EntryWrite
from bylaw.model.event import AgentStop, Message
from bylaw.model.facts import ChangedFile, Changes, ChangeSet, Entry
from bylaw.model.procedure import Book
from bylaw.model.source import SourceFile
from bylaw.model.vocabulary import EffectStatus, EntryStatus, FileStatus, Role

OPEN = (EntryStatus.QUEUED, EntryStatus.FAILED)


def rule_file(name, text):
    return RuleFile(SourceFile(f".deepwork/policies/{name}.md", text), f"digest of {name}")


def book_of(**texts):
    """The book of these policies, by identifier with `_` for `-`."""
    files = [rule_file(name.replace("_", "-"), text) for name, text in texts.items()]
    loaded = file_policies.load(files)
    assert loaded.diagnostics == ()
    return Book(
        dialect=file_policies.name,
        path=".deepwork/policies",
        files=tuple(file.path for file in files),
        digest="digest",
        groups=loaded.groups,
    )


@dataclass
class World:
    """Changed files with what they hold (None: deleted), and entries by hash."""

    files: dict
    entries: dict = field(default_factory=dict)
    lists: dict = field(default_factory=dict)
    formatted: object = str.strip
    asked: list = field(default_factory=list)
    ran: list = field(default_factory=list)
    emitted: list = field(default_factory=list)
    ref: str = "abc123"

    def gather(self, need, facts):
        self.asked.append(f"{need.name}:{need.key}")
        if need.name is NeedName.CHANGES:
            known = Changes() if facts.changes is UNSET else facts.changes
            return replace(facts, changes=replace(known, **{need.key: self._changes()}))
        known = {} if facts.entries is UNSET else facts.entries
        if need.key != OPEN_ENTRIES:
            return replace(facts, entries={**known, need.key: self.entries.get(need.key)})
        found = {key: one for key, one in self.entries.items() if one.status in OPEN}
        return replace(facts, entries={**known, **found})

    def _changes(self):
        files = [
            ChangedFile(path=path, status=FileStatus.DELETED)
            if text is None
            else ChangedFile(path=path, status=FileStatus.MODIFIED, digest=text)
            for path, text in self.files.items()
        ]
        return ChangeSet(ref=self.ref, files=tuple(files))

    def perform(self, step):
        if isinstance(step, EntryWrite):
            self._write(step)
        elif isinstance(step, CommandRun):
            return self._run(step)
        elif step.op == "event.emit":
            self.emitted.append(step.payload)
        return DONE

    def _write(self, step):
        lists = (step.trigger_files, step.expected_files, step.matched_files)
        if not step.trigger_files:
            lists = self.lists[step.hash]
        digest = step.digest
        if self.ran and step.status in (EntryStatus.PASSED, EntryStatus.FAILED):
            held = {path: text or "" for path, text in self.files.items()}
            digest = content_digest([path for one in lists for path in one], held, step.command)
        self.lists[step.hash] = lists
        self.entries[step.hash] = Entry(
            policy=step.policy,
            status=step.status,
            digest=digest,
            shown=step.shown,
            result=step.result or "",
        )

    def _run(self, step):
        self.ran.append(step.argv)
        for path in step.files:
            once = self.formatted(self.files[path])
            twice = self.formatted(once)
            self.files[path] = twice
            if once != twice:
                error = f"`{path}` changed again when the command ran a second time"
                return StepOutcome(EffectStatus.FAILED, {"error": error})
        return StepOutcome(EffectStatus.OK, {"exit_code": 0})

    def status(self, hash_):
        return self.entries[hash_].status.value


def driven(world, **texts):
    return Driven(book_of(**texts), perform=world.perform, gather=world.gather)


def stop(session):
    return session.submit(AgentStop())


def say(session, text, role=Role.ASSISTANT):
    return session.submit(Message(role=role, text=text))
