"""`command.run` steps from a rule file to their `effect` records: settings, trust, what is refused."""

import os
import stat

import pytest

from bylaw.engine.index import RuleSet
from bylaw.model.event import AgentStop
from bylaw.model.vocabulary import EffectStatus, Op
from bylaw.runtime.loader import load
from bylaw.runtime.root import read_configuration
from bylaw.runtime.rule_files import discover
from bylaw.runtime.sandbox.client import Cancellation, detect_isolation
from bylaw.runtime.sandbox.step import CommandLimits, CommandRunner
from bylaw.runtime.submit import Runtime
from bylaw.runtime.trust import Trust, TrustState, check_trust, trust_request
from bylaw.store.journal.journal import Journal
from bylaw.store.journal.records import read_effects, rules_with_texts
from bylaw.store.trust import remove_record, save_record

NOON = "2026-01-31T12:00:00+00:00"


class Repository:
    """A root with one rule file, whose commands run as a host would have them run."""

    def __init__(self, root):
        self.root = root

    def write(self, rules, settings=""):
        (self.root / "bylaw.toml").write_text(f'[[book]]\npath = "a.lines"\n{settings}')
        (self.root / "a.lines").write_text(f"{rules}\n")
        self.configuration = read_configuration(str(self.root))
        self.library = load(discover(str(self.root), self.configuration))
        return self

    def trusted(self):
        request = trust_request(self.library, self.configuration)
        save_record(str(self.root), request.granted(str(self.root), NOON))
        return self

    def stop(self, trust=None, **more):
        """The effect of the one step, from the journal."""
        runner = CommandRunner(
            str(self.root),
            self.configuration.settings.command,
            trust or (lambda: check_trust(str(self.root), self.library, self.configuration)),
            **more,
        )
        rules, in_force = RuleSet(self.library.in_force()), rules_with_texts(self.library.books)
        with Journal(str(self.root / "journal.db")) as journal:
            performers = {Op.COMMAND_RUN: runner.perform}
            answer = Runtime(rules, in_force, journal, performers=performers).submit(AgentStop())
            (effect,) = read_effects(journal, answer.event.session, answer.event.seq)
        return effect


@pytest.fixture
def repository(tmp_path, a_person):
    root = tmp_path / "repository"
    root.mkdir()
    return Repository(root)


class TestTrust:
    def test_a_repository_that_nobody_trusts_starts_nothing(self, repository):
        effect = repository.write("on agent.stop run touch harm").stop()

        assert effect.status is EffectStatus.REFUSED
        assert effect.result["refusal"] == "untrusted"
        assert effect.result["error"] == "no person has trusted it yet; see `bylaw trust`"
        assert effect.result["isolation"] == {"by": "none", "why": "nothing was started"}
        assert not (repository.root / "harm").exists()

    def test_one_that_is_trusted_does(self, repository):
        effect = repository.write("on agent.stop run touch done").trusted().stop()

        assert effect.status is EffectStatus.OK
        assert (repository.root / "done").exists()

    def test_trust_for_one_run(self, repository):
        repository.write("on agent.stop run touch done")

        assert repository.stop(trust=Trust.for_one_run).status is EffectStatus.OK

    def test_trust_that_was_taken_back_after_the_rules_were_loaded(self, repository):
        repository.write("on agent.stop run touch harm").trusted()
        remove_record(str(repository.root))

        assert repository.stop().status is EffectStatus.REFUSED
        assert not (repository.root / "harm").exists()

    def test_rules_that_changed_since(self, repository):
        repository.write("on agent.stop run touch done").trusted()
        effect = repository.write("on agent.stop run touch harm").stop()

        assert effect.status is EffectStatus.REFUSED
        assert effect.result["error"].endswith("changed since it was trusted; see `bylaw trust`")

    def test_a_step_that_no_book_told_of(self, repository):
        repository.write("on agent.stop run touch harm")
        not_needed = Trust(TrustState.NOT_NEEDED, "nothing here needs trust")
        effect = repository.stop(trust=lambda: not_needed)

        assert effect.status is EffectStatus.REFUSED
        assert not (repository.root / "harm").exists()


class TestTheRecord:
    def test_everything_that_was_in_force(self, repository):
        """LD-104, DW-097, DW-099"""
        repository.write("on agent.stop run sh say.sh a;b").trusted()
        (repository.root / "say.sh").write_text('echo "$1"; echo no >&2; exit 3\n')
        effect = repository.stop()

        assert effect.status is EffectStatus.FAILED
        assert effect.result == {
            "error": "exit code 3",
            "argv": ["sh", "say.sh", "a;b"],
            "program": effect.result["program"],
            "cwd": str(repository.root),
            "ending": "exited",
            "exit_code": 3,
            "signal": None,
            "result": "a;b\n",
            "stderr": "no\n",
            "cut": {"stdout": 0, "stderr": 0},
            "isolation": detect_isolation().as_json(),
            "limits": {
                "timeout_s": 10, "output": 16384, "processes": 8192, "file": 4 << 30,
            },
        }  # fmt: skip
        assert effect.result["program"].endswith("/bin/sh")

    def test_a_time_out(self, repository):
        settings = "[command]\ntimeout_s = 1\n"
        effect = repository.write("on agent.stop run sleep 600", settings).trusted().stop()

        assert effect.status is EffectStatus.TIMEOUT
        assert effect.result["error"] == "took longer than 1 s"
        assert effect.result["exit_code"] is None

    def test_a_program_that_is_not_there(self, repository):
        effect = repository.write("on agent.stop run no-such-program").trusted().stop()

        assert effect.status is EffectStatus.REFUSED
        assert effect.result["refusal"] == "not found"

    def test_cancelled(self, repository):
        cancellation = Cancellation()
        cancellation.cancel()
        repository.write("on agent.stop run touch harm").trusted()
        effect = repository.stop(cancellation=cancellation)

        assert (effect.status, effect.result["error"]) == (EffectStatus.FAILED, "cancelled")
        assert not (repository.root / "harm").exists()


class TestSettings:
    def test_programs(self, repository):
        settings = '[command]\nallow = ["true"]\n'

        assert repository.write("on agent.stop run true", settings).trusted().stop().status == "ok"
        repository.write("on agent.stop run touch harm", settings).trusted()
        assert repository.stop().result["refusal"] == "not allowed"

    def test_a_language_may_allow_fewer(self, repository):
        """What both allow is allowed; if that is nothing, then nothing."""
        repository.write("on agent.stop run true", '[command]\nallow = ["true"]\n').trusted()
        others, same = ({"lines": CommandLimits(frozenset({name}))} for name in ("touch", "true"))

        assert repository.stop(languages=others).result["refusal"] == "not allowed"
        assert repository.stop(languages=same).status is EffectStatus.OK

    def test_roots_of_a_language_that_has_them(self, repository):
        """LD-099, LD-A22: no roots, no command."""
        bounds = {"lines": CommandLimits(in_roots=True)}
        repository.write("on agent.stop run true").trusted()
        assert repository.stop(languages=bounds).result["refusal"] == "outside"

        repository.write("on agent.stop run true", '[command]\nroots = ["src"]\n').trusted()
        (repository.root / "src").mkdir()
        assert repository.stop(languages=bounds).result["refusal"] == "outside"

        repository.write("on agent.stop run true", '[command]\nroots = ["."]\n').trusted()
        assert repository.stop(languages=bounds).status is EffectStatus.OK

    def test_variables(self, repository, monkeypatch):
        monkeypatch.setenv("MINE", "1")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
        settings = '[command]\nenv = ["MINE"]\n'
        effect = repository.write("on agent.stop run env", settings).trusted().stop()

        assert "MINE=1\n" in effect.result["result"]
        assert "AWS" not in effect.result["result"]


def test_a_root_that_is_a_link(repository):
    """What it really is counts."""
    link = repository.root.parent / "link"
    link.symlink_to(repository.root)
    repository.root = link
    effect = repository.write("on agent.stop run touch done").trusted().stop()

    assert effect.status is EffectStatus.OK
    assert effect.result["cwd"] == os.path.realpath(link)
    assert stat.S_ISREG((link / "done").stat().st_mode)
