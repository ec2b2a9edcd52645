"""File policies in the common form: commands and prompts over changes, two rounds, promises."""

import re
from dataclasses import dataclass, field

from driving import DONE, Driven, assert_replays
from forms import Check, Makes, book, group, rule
from msgspec import UNSET
from msgspec.structs import replace as changed

from bylaw.engine.decide import decide
from bylaw.engine.index import RuleSet
from bylaw.engine.plan import StepOutcome
from bylaw.model.decision import OPEN_ENTRIES, Match, Need, NeedName, Needs, OnFailure
from bylaw.model.effects import CommandRun, EntryWrite, Outcome, OutcomePart, PromptShow
from bylaw.model.event import AgentStop, Message
from bylaw.model.facts import ChangedFile, Changes, ChangeSet, Entry
from bylaw.model.rule import Rounds
from bylaw.model.session import Session
from bylaw.model.vocabulary import EffectStatus, EntryStatus, FileStatus, Kind, Op, Role, Verdict

DETECTION = Need(NeedName.CHANGES, "base")


@dataclass
class World:
    """A work tree and a queue: what is gathered and what steps do to it."""

    files: dict[str, str]
    entries: dict[str, Entry] = field(default_factory=dict)
    # What the formatter makes of a file; the second run inside one step shows if it is stable.
    formatted: object = str.strip
    asked: list = field(default_factory=list)

    def gather(self, need, facts):
        self.asked.append((need.name.value, need.key))
        if need.name is NeedName.CHANGES:
            files = tuple(
                ChangedFile(path=path, status=FileStatus.MODIFIED, digest=text)
                for path, text in self.files.items()
            )
            return changed(facts, changes=Changes(base=ChangeSet(ref="abc", files=files)))
        known = {} if facts.entries is UNSET else facts.entries
        one = {need.key: self.entries.get(need.key)}
        found = self.entries if need.key == OPEN_ENTRIES else one
        return changed(facts, entries={**known, **found})

    def perform(self, step):
        if isinstance(step, EntryWrite):
            digest = "+".join(self.files.get(path, "") for path in step.trigger_files)
            self.entries[step.hash] = Entry(
                policy=step.policy, status=step.status, digest=digest, shown=step.shown
            )
        if isinstance(step, CommandRun):
            return self._format(step)
        return DONE

    def _format(self, step):
        for path in step.files:
            once = self.formatted(self.files[path])
            twice = self.formatted(once)
            self.files[path] = twice
            if once != twice:
                return StepOutcome(EffectStatus.FAILED, {"error": f"{path} changed again"})
        return StepOutcome(EffectStatus.OK, {"exit_code": 0})


@dataclass(frozen=True)
class Correspondence:
    """The changed files that a policy is about; `outcome` is which of its rules this is."""

    policy: str
    suffix: str
    outcome: str

    def test(self, view):
        changes = view.fact(Need(NeedName.CHANGES, "base"))
        files = [file for file in changes.files if file.path.endswith(self.suffix)]
        if not files:
            return None
        hash_ = f"{self.policy}:{'+'.join(file.path for file in files)}"
        entry = view.fact(Need(NeedName.ENTRIES, hash_))
        digest = "+".join(file.digest for file in files)
        if self._outcome(entry, digest) != self.outcome:
            return None
        paths = [file.path for file in files]
        return Match({"hash": hash_, "files": paths, "digest": digest, "shown": _shown(entry)})

    def _outcome(self, entry, digest):
        if entry is None or (entry.status is not EntryStatus.QUEUED and entry.digest != digest):
            return "violated"
        if entry.status is EntryStatus.QUEUED:
            return "violated"
        return "failed" if entry.status is EntryStatus.FAILED else "settled"


def _shown(entry):
    return 0 if entry is None else entry.shown


def entry_write(policy, status, shown=0, result=None):
    def make(view, match):
        return EntryWrite(
            hash=match.values["hash"],
            status=status,
            policy=policy,
            baseline="abc",
            trigger_files=tuple(match.values["files"]),
            digest=match.values["digest"],
            shown=match.values["shown"] + shown,
            result=result,
        )

    return Makes(Op.ENTRY_WRITE, make)


def command_policy(policy, suffix):
    """Two rules: `first` runs the command, `last` denies while its entry is failed."""
    run = Makes(
        Op.COMMAND_RUN,
        lambda view, match: CommandRun(
            argv=("fmt", *match.values["files"]),
            cwd=".",
            timeout_s=60,
            check_idempotent=True,
            files=tuple(match.values["files"]),
        ),
    )
    return (
        rule(
            policy,
            Kind.AGENT_STOP,
            dialect="policies",
            rank=1,
            rounds=Rounds.FIRST,
            needs=(DETECTION,),
            when=Correspondence(policy, suffix, "violated"),
            steps=[
                run,
                entry_write(policy, EntryStatus.PASSED, result=Outcome(OutcomePart.ERROR)),
            ],
            on_failure=OnFailure.MARK_ENTRY,
            again=True,
        ),
        rule(
            policy,
            Kind.AGENT_STOP,
            dialect="policies",
            rank=1,
            rounds=Rounds.LAST,
            needs=(DETECTION,),
            when=Correspondence(policy, suffix, "failed"),
            verdict=Verdict.DENY,
            because=f"{policy} failed",
        ),
    )


def prompt_policy(policy, suffix):
    show = Makes(
        Op.PROMPT_SHOW,
        lambda view, match: PromptShow(
            policy=policy, text="look at it", files=tuple(match.values["files"])
        ),
    )
    return (
        rule(
            policy,
            Kind.AGENT_STOP,
            dialect="policies",
            rank=2,
            rounds=Rounds.LAST,
            needs=(DETECTION,),
            when=Correspondence(policy, suffix, "violated"),
            verdict=Verdict.DENY,
            because=policy,
            steps=[show, entry_write(policy, EntryStatus.QUEUED, shown=1)],
        ),
        rule(
            policy,
            Kind.MESSAGE,
            dialect="policies",
            rank=2,
            when=Check(lambda view: kept_promise(policy, view)),
            steps=[entry_write(policy, EntryStatus.PASSED)],
        ),
    )


def kept_promise(policy, view):
    """`<promise>NAME</promise>` by the assistant, about an entry that was shown (DW-A20)."""
    if view.event.role is not Role.ASSISTANT:
        return None
    named = re.findall(r"<promise>(.*?)</promise>", view.event.text)
    if policy not in [name.strip().removeprefix("✓").strip().lower() for name in named]:
        return None
    for hash_, entry in view.fact(Need(NeedName.ENTRIES, OPEN_ENTRIES)).items():
        if entry.policy == policy and entry.status is EntryStatus.QUEUED and entry.shown:
            files = hash_.partition(":")[2].split("+")
            return Match({"hash": hash_, "files": files, "digest": entry.digest, "shown": 0})
    return None


def driven(world, *rules):
    return Driven(book(group("policies", *rules)), perform=world.perform, gather=world.gather)


FORMAT = command_policy("fmt", ".py")
REVIEW = prompt_policy("review", ".py")
HASH = "review:a.py"


class TestAFormatterThatIsNotIdempotent:
    """DW-088, DW-096, DW-A46"""

    def test_its_entry_is_failed_and_the_stop_denied_in_round_2(self):
        world = World({"a.py": "x"}, formatted=lambda text: text + "x")
        session = driven(world, *FORMAT)
        stop = session.submit(AgentStop())

        assert stop.verdict is Verdict.ALLOW
        assert stop.trace == [("fmt", "fired")]
        assert [(step.op.value, status) for step, status in stop.done] == [
            ("command.run", "failed"),
            ("entry.write", "ok"),
        ]
        marked = stop.performed[1][0]
        assert (marked.status, marked.result) == (EntryStatus.FAILED, "a.py changed again")
        [again] = stop.caused
        assert again.event.round == 2
        assert again.verdict is Verdict.DENY
        assert again.reasons == [("fmt", "fmt failed")]
        assert session.session.blocked.stops[-1].times == 1
        assert_replays(session)

    def test_the_command_is_not_run_again_until_the_file_changes(self):
        world = World({"a.py": "x"}, formatted=lambda text: text + "x")
        session = driven(world, *FORMAT)
        session.submit(AgentStop())
        second = session.submit(AgentStop())

        assert second.trace == [("fmt", "fired")]
        assert second.verdict is Verdict.DENY
        assert second.steps == second.caused == []
        assert session.session.blocked.stops[-1].times == 2
        world.files["a.py"] = "other"
        assert [step.op for _, step in session.submit(AgentStop()).steps] == [
            Op.COMMAND_RUN,
            Op.ENTRY_WRITE,
        ]
        assert_replays(session)

    def test_a_stable_one_passes(self):
        world = World({"a.py": " x "})
        session = driven(world, *FORMAT)
        stop = session.submit(AgentStop())
        [again] = stop.caused

        assert [status for _, status in stop.done] == ["ok", "ok"]
        assert [entry.status for entry in world.entries.values()] == [EntryStatus.PASSED]
        assert again.trace == [("fmt", "guard_false")]
        assert session.submit(AgentStop()).steps == []  # DW-A25: its own change is no trigger
        assert_replays(session)


class TestACommandPolicyAndThenAPromptPolicyOnTheSameFile:
    """DW-A47"""

    def test_needs_come_one_after_the_other(self):
        rules = RuleSet([book(group("policies", *FORMAT, *REVIEW))])
        stop = AgentStop()
        asked = decide(rules, Session(), stop)
        assert asked == Needs((DETECTION,))

        world = World({"a.py": "x"})
        stop = changed(stop, facts=world.gather(DETECTION, stop.facts))
        asked = decide(rules, Session(), stop)
        assert asked == Needs((Need(NeedName.ENTRIES, "fmt:a.py"), Need(NeedName.ENTRIES, HASH)))

    def test_the_prompt_is_judged_by_the_formatted_file(self):
        world = World({"a.py": " x "})
        session = driven(world, *REVIEW, *FORMAT)
        stop = session.submit(AgentStop())

        assert stop.verdict is Verdict.ALLOW
        assert stop.trace == [("fmt", "fired"), ("review", "not_live")]
        [again] = stop.caused
        assert again.verdict is Verdict.DENY
        assert again.trace == [("fmt", "guard_false"), ("review", "fired")]
        assert again.steps == [
            ("review", PromptShow(policy="review", text="look at it", files=("a.py",))),
            (
                "review",
                EntryWrite(
                    hash=HASH,
                    status=EntryStatus.QUEUED,
                    policy="review",
                    baseline="abc",
                    trigger_files=("a.py",),
                    digest="x",
                    shown=1,
                ),
            ),
        ]
        # Facts are gathered anew for round 2; the digest is that after the command.
        assert world.asked.count(("changes", "base")) == 2
        assert_replays(session)

    def test_what_failed_before_is_told_in_the_last_round_too(self):
        """Its rule stands before the one that brings a second round."""
        world = World({"a.py": "x"}, formatted=lambda text: text + "x")
        session = driven(world, *FORMAT, *command_policy("tidy", ".md"))
        session.submit(AgentStop())
        world.files["b.md"] = "y"
        stop = session.submit(AgentStop())

        assert stop.verdict is Verdict.ALLOW
        assert stop.trace == [("fmt", "guard_false"), ("tidy", "fired")]
        [again] = stop.caused
        assert again.reasons == [("fmt", "fmt failed"), ("tidy", "tidy failed")]
        assert_replays(session)

    def test_without_a_command_to_run_round_1_is_the_last(self):
        world = World({"a.py": "x"})
        session = driven(world, *FORMAT, *REVIEW)
        session.submit(AgentStop())
        stop = session.submit(AgentStop())

        assert stop.trace == [("fmt", "guard_false"), ("review", "fired")]
        assert stop.verdict is Verdict.DENY
        assert stop.caused == []
        assert world.entries[HASH].shown == 2
        assert_replays(session)

    def test_changes_that_cannot_be_had_are_recorded(self):
        session = Driven(book(group("policies", *FORMAT, *REVIEW)))
        stop = session.submit(AgentStop())

        assert stop.event.facts.unknown == ("changes:base",)
        assert stop.trace == [("fmt", "guard_error"), ("review", "guard_error")]
        assert_replays(session)


class TestAPromiseUsedTwice:
    """DW-084, DW-A20, DW-144"""

    promise = Message(role=Role.ASSISTANT, text="done <promise>✓ Review</promise>")

    def shown(self):
        world = World({"a.py": "x"})
        session = driven(world, *REVIEW)
        session.submit(AgentStop())
        return world, session

    def test_it_settles_the_entry_that_was_shown_and_no_later_one(self):
        world, session = self.shown()
        kept = session.submit(self.promise)
        assert [step.status for _, step in kept.steps] == [EntryStatus.PASSED]
        assert kept.trace == [("review", "fired")]
        assert session.submit(AgentStop()).verdict is Verdict.ALLOW

        again = session.submit(self.promise)
        assert again.steps == []
        assert again.trace == [("review", "guard_false")]

        world.files["b.py"] = "y"
        assert session.submit(AgentStop()).verdict is Verdict.DENY
        assert world.entries["review:a.py+b.py"].status is EntryStatus.QUEUED
        assert_replays(session)

    def test_a_promise_before_the_instructions_were_shown_is_none(self):
        world = World({"a.py": "x"})
        session = driven(world, *REVIEW)
        assert session.submit(self.promise).steps == []
        assert session.submit(AgentStop()).verdict is Verdict.DENY
        assert_replays(session)

    def test_nobody_else_can_promise(self):
        _, session = self.shown()
        for role in (Role.USER, Role.TOOL):
            assert session.submit(changed(self.promise, role=role)).steps == []
        other = Message(role=Role.ASSISTANT, text="<promise>other</promise>")
        assert session.submit(other).steps == []
        assert session.submit(AgentStop()).verdict is Verdict.DENY
        assert_replays(session)

    def test_one_that_nobody_keeps_blocks_again_and_again(self):
        _, session = self.shown()
        session.submit(AgentStop())

        assert [stop.times for stop in session.session.blocked.stops] == [2]
        assert session.submit(AgentStop()).verdict is Verdict.DENY
        assert_replays(session)
