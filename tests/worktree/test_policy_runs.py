"""Commands of policies: run together, until they are stable, and what becomes of hostile ones."""

import os

import pytest
from stopping import World

from bylaw.engine.plan import DueStep
from bylaw.model.decision import Plan
from bylaw.model.effects import BaselineCapture, CommandRun
from bylaw.model.event import AgentStop, Prompt
from bylaw.model.facts import WorkFacts
from bylaw.model.vocabulary import EffectStatus, Op, Verdict
from bylaw.runtime.sandbox import client
from bylaw.runtime.sandbox.step import CommandRunner
from bylaw.runtime.settings import CommandSettings
from bylaw.runtime.trust import Trust, TrustState
from bylaw.worktree.command_runs import run_and_check_stable
from bylaw.worktree.folders import write_summary
from bylaw.worktree.git import Git
from bylaw.worktree.queue import QueueFolder


@pytest.fixture
def world(tmp_path):
    made = World(tmp_path, **{"kept.txt": "kept\n", "old.py": "old\n"})
    made.repository.write("a.py", "a\n")
    return made


def result(world):
    return world.held()["action_result"]


class TestIdempotency:
    """DW-078, DW-088, DW-089, DW-096, DW-A22, DW-A24, DW-A25"""

    def test_what_changes_nothing_runs_once(self, world):
        assert world.command("sh:echo fine").stop().verdict is Verdict.ALLOW

        assert world.ran == ["a.py"]
        assert world.held()["status"] == "passed"
        assert result(world) | {"limits": 0} == {
            "type": "command",
            "output": "fine\n",
            "exit_code": 0,
            "command": "sh tidy.sh {file}",
            "argv": ["sh", "tidy.sh", "a.py"],
            "stdout": "fine\n",
            "stderr": "",
            "runs": [{"argv": ["sh", "tidy.sh", "a.py"], "times": 1, "exit_code": 0}],
            "limits": 0,
        }

    @pytest.mark.parametrize("path", ["$1", "kept.txt"])
    def test_the_same_bytes_once_more_are_no_change(self, world, path):
        world.command(f'sh:cat "{path}" > .new && rm "{path}" && mv .new "{path}"').stop()

        assert world.ran == ["a.py"]
        assert "touched" not in result(world)

    def test_what_changes_something_runs_twice(self, world):
        world.command('sh:echo tidy > "$1"').stop()
        assert world.ran == ["a.py", "a.py"]
        assert world.held()["status"] == "passed"

        world.stop()
        assert world.ran == ["a.py", "a.py"]  # its own change is none (DW-A25)

    def test_an_edit_makes_it_run_again(self, world):
        """DW-A19"""
        world.command("sh:true").stop()
        for number in range(3):
            world.repository.write("a.py", f"{number}\n")
            world.stop()
        assert world.ran == ["a.py"] * 4
        assert len(world.queue.names) == 1

    def test_what_it_changes_beside_is_listed(self, world):
        """DW-A23"""
        world.repository.write("dirty.txt", "mine\n")
        world.command("sh:echo x > made.txt; echo y > kept.txt; rm -f old.py").stop()

        assert world.held()["status"] == "passed"
        assert result(world)["touched"] == ["kept.txt", "made.txt", "old.py"]
        assert world.ran == ["a.py", "a.py"]

    def test_what_is_ignored_does_not_count(self, world):
        world.command("sh:date +%N >> log").stop()
        assert world.held()["status"] == "passed"

    def test_what_edits_for_ever_has_failed(self, world):
        stop = world.command('sh:echo more >> "$1"').stop()

        assert stop.verdict is Verdict.DENY
        assert "`a.py` changed again" in stop.decision.reasons[0].text
        assert world.ran == ["a.py", "a.py"]
        assert world.held()["status"] == "failed"
        assert result(world)["reason"] == (
            "`sh tidy.sh a.py`: `a.py` changed again when the command ran a second time"
        )

    def test_a_file_that_changes_again_elsewhere(self, world):
        world.command("sh:date +%N > made.txt").stop()
        assert result(world)["reason"].startswith("`sh tidy.sh a.py`: `made.txt` changed again")
        assert result(world)["touched"] == ["made.txt"]

    def test_what_fails_is_not_tried_again_until_a_file_changes(self, world):
        """DW-097, DW-A46"""
        world.command('sh:echo x >> "$1"; echo said; echo wrong in line 10 >&2; exit 3')
        stop = world.stop()

        assert stop.verdict is Verdict.DENY
        assert "failed with exit code 3\n  wrong in line 10\n" in stop.decision.reasons[0].text
        assert world.ran == ["a.py"]
        said = result(world)
        assert (said["exit_code"], said["stdout"], said["stderr"]) == (
            3,
            "said\n",
            "wrong in line 10\n",
        )
        assert world.stop().verdict is Verdict.DENY
        assert world.ran == ["a.py"]
        world.repository.write("a.py", "b\n")
        world.stop()
        assert world.ran == ["a.py", "a.py"]

    def test_what_fails_the_second_time(self, world):
        world.command('sh:test -e b.txt && exit 2; echo b > b.txt; echo b > "$1"').stop()
        assert world.held()["status"] == "failed"
        assert result(world)["reason"] == (
            "`sh tidy.sh a.py` failed with exit code 2 when it ran a second time"
        )
        assert result(world)["runs"][0]["times"] == 2


class TestSeveralFiles:
    def test_every_run_that_took_place_is_recorded(self, world):
        """DW-071, invariant 2: also those behind one that failed."""
        world.repository.write("b.py", "b")
        world.repository.write("c.py", "c")
        world.command('sh:test "$1" = b.py || { echo "not $1" >&2; exit 1; }').stop()

        runs = [one.result for one in world.effects if one.op is Op.COMMAND_RUN]
        assert [(one["argv"][-1], one["exit_code"]) for one in runs] == [
            ("a.py", 1),
            ("b.py", 0),
            ("c.py", 1),
        ]
        said = result(world)
        assert said["stderr"] == "$ sh tidy.sh a.py\nnot a.py\n$ sh tidy.sh c.py\nnot c.py\n"
        assert [one.get("said") for one in said["runs"]] == [["not a.py"], None, ["not c.py"]]

    def test_of_many_runs_those_that_failed_are_told_first(self, world, monkeypatch):
        monkeypatch.setattr("bylaw.worktree.command_runs.MAX_NAMED", 2)
        for name in ("b.py", "c.py", "d.py"):
            world.repository.write(name, name)
        world.command('sh:test "$1" != d.py').stop()

        assert [one["argv"][-1] for one in result(world)["runs"]] == ["d.py", "a.py"]

    def test_each_is_told_what_it_changed(self, world):
        world.repository.write("b.py", "b")
        world.command('sh:test "$1" = b.py && echo new > b.py; echo x > made.txt').stop()

        told = {one["argv"][-1]: one.get("changed") for one in result(world)["runs"]}
        assert told == {"a.py": None, "b.py": ["b.py"]}
        assert result(world)["touched"] == ["made.txt"]

    def test_a_promise_leaves_what_was_run(self, world):
        """DW-071: beside the word that it may be skipped"""
        world.command("sh:echo wrong >&2; exit 3").stop()
        world.say("<promise>tidy</promise>")

        said = result(world)
        assert world.held()["status"] == "skipped"
        assert said["output"] == "acknowledged by promise"
        assert (said["argv"], said["exit_code"]) == (["sh", "tidy.sh", "a.py"], 3)
        assert said["stderr"] == "wrong\n"

    def test_they_begin_in_their_order(self, world, monkeypatch):
        """DW-091: each when the program of the one before it runs."""
        monkeypatch.setattr("bylaw.worktree.command_runs.os.cpu_count", lambda: 8)
        names = [f"{letter}.py" for letter in "bcdefgh"]
        for name in names:
            world.repository.write(name, name)
        world.command("sh:sleep 0.2").stop()

        assert world.ran == ["a.py", *names]

    @pytest.mark.parametrize("isolation", [client.BUBBLEWRAP, "no-such-program"])
    def test_the_root_is_given_by_its_whole_path(self, world, monkeypatch, isolation):
        """In the entry stands what was really run."""
        monkeypatch.setattr(client, "BUBBLEWRAP", isolation)
        (world.root / "tell.sh").write_text('cd / && test -d "$2" && echo "$2" > "$2/log"\n')
        world.command("sh tell.sh {file} {repo_root}").stop()

        assert (world.root / "log").read_text() == f"{world.root}\n"
        assert result(world)["argv"] == ["sh", "tell.sh", "a.py", str(world.root)]

    def test_each_has_its_run_and_the_first_that_fails_is_on_top(self, world):
        """DW-091"""
        for name in ("b.py", "c.py", "d e;f.py"):
            world.repository.write(name, name)
        world.command('sh:case "$1" in c.py) exit 7;; d*) exit 8;; esac').stop()

        said = result(world)
        assert (said["argv"][-1], said["exit_code"]) == ("c.py", 7)
        assert said["reason"] == "`sh tidy.sh c.py` failed with exit code 7, and 1 more"
        assert [(run["argv"][-1], run["exit_code"]) for run in said["runs"]] == [
            ("a.py", 0),
            ("b.py", 0),
            ("c.py", 7),
            ("d e;f.py", 8),
        ]
        commands = [one for one in world.effects if one.op is Op.COMMAND_RUN]
        assert [one.status for one in commands] == [
            EffectStatus.OK,
            EffectStatus.OK,
            EffectStatus.FAILED,
            EffectStatus.FAILED,
        ]

    def test_all_at_once(self, world):
        """DW-092"""
        world.repository.write("b.py", "b")
        world.command("sh tidy.sh {files}", run_for="all_matches")
        world.repository.write("tidy.sh", 'echo "$@" >> log')
        world.stop()
        assert (world.root / "log").read_text() == "a.py b.py\n"

    def test_names_that_are_no_text_or_look_like_options(self, world):
        """DW-093, DW-A29"""
        (world.root / "a.py").unlink()
        for name in (b"\xff.py", b"-rf.py", "é ü.py".encode()):
            (world.root / os.fsdecode(name)).write_text("x")
        world.command('sh:test -f "$1" && echo done > "$1"').stop()

        assert world.held()["status"] == "passed"
        for name in (b"\xff.py", b"-rf.py", "é ü.py".encode()):
            assert (world.root / os.fsdecode(name)).read_text() == "done\n"

    def test_what_was_deleted_is_not_run(self, world):
        """DW-A30"""
        (world.root / "old.py").unlink()
        world.command("sh:true").stop()
        assert world.ran == ["a.py"]

    def test_more_than_can_be_run(self, world):
        for number in range(1_000):
            world.repository.write(f"{number}.py", "b")
        world.command("sh:true").stop()
        assert "more than 1,000 files; use `run_for: all_" in result(world)["reason"]
        assert world.ran == []

    def test_as_many_as_can_be_run(self, world):
        for number in range(999):
            world.repository.write(f"{number}.py", "b")
        world.command("not-there {file}").stop()  # quicker than a thousand programs
        assert "not-there" in result(world)["reason"]
        assert "more than" not in result(world)["reason"]

    def test_two_policies_one_after_the_other(self, world):
        busy = "sh:mkdir busy || exit 9; sleep 0.1; rmdir busy"
        world.command(busy, name="one").command(busy, name="two").stop()
        assert [name.split(".")[1] for name in world.queue.names] == ["passed", "passed"]

    def test_two_commands_on_one_file_never_overlap(self, world):
        """DW-100"""
        script = 'mkdir busy || exit 9; sleep 0.05; rmdir busy; echo "$2" >> log'
        steps = [
            CommandRun(
                argv=("sh", "-c", script, "sh", path, str(number)),
                cwd=".",
                timeout_s=300,
                files=(path, "kept.txt"),
            )
            for number in range(6)
            for path in ("a.py", "old.py")
        ]
        runner = CommandRunner(str(world.root), world.settings, world.trust)
        ran = run_and_check_stable(steps, "policies:x#x", runner, dict)
        assert not ran.failed
        assert len(world.ran) == 12


class TestTriedAgain:
    """What failed stays so until something of it changes (DW-A19, DW-A46)."""

    def put(self, world, name, text):
        world.repository.write(name, f"#!/bin/sh\necho ran >> log\n{text}\n")
        (world.root / name).chmod(0o755)

    def fail(self, world, command, name="tidy", text="exit 1"):
        self.put(world, name, text)
        for _ in range(2):
            assert world.command(command).stop().verdict is Verdict.DENY
        assert world.ran == ["ran"], "the second stop runs nothing"

    def test_when_its_text_is_mended(self, world):
        self.fail(world, "./tidy {file}")
        assert world.command("./tidy --fix {file}").stop().verdict is Verdict.DENY
        assert world.ran == ["ran", "ran"]
        assert world.command("true {file}").stop().verdict is Verdict.ALLOW
        assert world.held()["status"] == "passed"

    @pytest.mark.parametrize(
        "command",
        ["./tidy {file}", "{repo_root}/tidy {file}", "sh tidy {file}", "sh ./tidy --with=x {file}"],
    )
    def test_when_its_script_is_mended(self, world, command):
        self.fail(world, command)
        self.put(world, "tidy", "exit 0")
        assert world.command(command).stop().verdict is Verdict.ALLOW
        assert world.ran == ["ran", "ran"]

    def test_when_its_settings_are_mended(self, world):
        script = "grep -q good tidy.conf"
        world.repository.write("tidy.conf", "bad\n")
        self.fail(world, "./tidy --config=tidy.conf {file}", text=script)
        world.repository.write("tidy.conf", "good\n")
        assert world.command("./tidy --config=tidy.conf {file}").stop().verdict is Verdict.ALLOW

    def test_when_its_script_is_what_was_committed(self, world):
        self.put(world, "tidy", "exit 0")
        world.repository.git("add", "-A")
        world.repository.git("commit", "-q", "-m", "x")
        world.repository.git("branch", "-f", "main")
        world.repository.write("b.py", "b")
        self.fail(world, "./tidy {file}")
        self.put(world, "tidy", "exit 0")
        assert world.command("./tidy {file}").stop().verdict is Verdict.ALLOW

    def test_when_its_entry_is_forgotten(self, world):
        self.fail(world, "./tidy {file}")
        [entry] = world.queue.queue.all_entries()
        world.queue.queue.remove(entry.trigger_hash)
        assert world.command("./tidy {file}").stop().verdict is Verdict.DENY
        assert world.ran == ["ran", "ran"]

    def test_not_because_it_changed_a_file_that_it_names_itself(self, world):
        """DW-A25: what it wrote is what it was closed on."""
        self.put(world, "tidy", "echo done > state.txt")
        for _ in range(2):
            stop = world.command("./tidy --state state.txt {file}").stop()
            assert stop.verdict is Verdict.ALLOW
        assert world.ran == ["ran", "ran"], "twice, to show that it is stable"

    def test_the_reason_names_the_way(self, world):
        [reason] = world.command("false {file}").stop().decision.reasons
        assert "write <promise>tidy</promise> to skip it" in reason.text
        assert "to run it again unchanged: `bylaw policies clear tidy`" in reason.text


class TestHostile:
    """DW-098, DW-099, DW-A26, DW-A28"""

    def failed(self, world, command, **settings):
        world.settings = CommandSettings(**{"timeout_s": 300, **settings})
        assert world.command(command).stop().verdict is Verdict.DENY
        assert world.held()["status"] == "failed"
        return result(world)

    def test_no_such_program(self, world):
        assert "no-such-program" in self.failed(world, "no-such-program {file}")["reason"]

    def test_one_that_hangs(self, world):
        world.repository.write("b.py", "b")
        world.repository.write("c.py", "c")
        world.repository.write("d.py", "d")
        said = self.failed(world, "sh:sleep 600", timeout_s=1)
        assert said["reason"] == "`sh tidy.sh a.py`: took longer than 1 s, and 3 more"
        assert said["exit_code"] is None
        # Nobody waits for one after the other.
        assert "not started" in said["runs"][-1]["error"]

    def test_one_that_forks(self, world):
        said = self.failed(world, "sh:sleep 600 & (sleep 600 &) ; (setsid sleep 600 &); exit 0")
        assert said["reason"] == ("`sh tidy.sh a.py`: left 3 processes behind, which were stopped")
        assert said["exit_code"] == 0

    def test_one_whose_processes_end_by_themselves(self, world):
        assert world.command("sh:(sleep 0.05; true) & exit 0").stop().verdict is Verdict.ALLOW
        assert world.held()["status"] == "passed"

    def test_one_that_floods(self, world):
        said = self.failed(world, "sh:yes")
        why = "wrote more than 10,000,000 bytes and was stopped"
        assert said["reason"] == f"`sh tidy.sh a.py`: {why}"
        assert said["exit_code"] is None
        assert "bytes left out" in said["stdout"]
        assert len(said["stdout"]) < 17_000
        assert len(said["stdout"].encode()) < 17_000

    def test_one_that_kills_itself(self, world):
        said = self.failed(world, "sh:kill -9 $$")
        assert said["reason"] == "`sh tidy.sh a.py`: killed by SIGKILL"

    @pytest.mark.parametrize(
        "how",
        [
            'rm "$1"',
            'mv "$1" "$1.old"',
            'mv "$1" "$1.old"; ln -s "$1.old" "$1"',
            'rm "$1"; mkdir "$1"; echo x > "$1/y"',
        ],
    )
    def test_one_that_removes_its_file(self, world, how):
        (world.root / "a.py").unlink()
        world.repository.write("old.py", "new\n")
        said = self.failed(world, f"sh:{how}")
        why = "`old.py` is gone: the command removed or renamed it"
        assert said["reason"] == f"`sh tidy.sh old.py`: {why}"
        assert world.ran == ["old.py"]

    def test_one_that_puts_a_link_in_the_place_of_a_folder(self, world):
        (world.root / "a.py").unlink()
        world.repository.write("src/b.py", "new\n")
        said = self.failed(world, "sh:[ -L src ] || { mv src src2; ln -s src2 src; }")
        assert "`src/b.py` is gone" in said["reason"]

    def test_one_that_removes_a_file_that_is_new(self, world):
        """DW-A46: the agent is told, though nothing is changed any more; then it is over."""
        stop = world.command('sh:rm "$1"').stop()
        assert stop.verdict is Verdict.DENY
        assert "the command removed or renamed it" in stop.decision.reasons[0].text
        assert world.held()["status"] == "failed"
        assert world.stop().verdict is Verdict.ALLOW

    def test_one_that_turns_its_file_into_a_pipe(self, world):
        world.command('sh:rm "$1"; mkfifo "$1"').stop()
        assert world.ran[0] == "a.py"

    def test_a_secret_of_ours_is_not_seen(self, world, monkeypatch):
        """DW-095, DW-135"""
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hidden")
        world.command("sh:env; pwd").stop()
        said = result(world)["stdout"]
        assert "hidden" not in said
        assert said.endswith(f"{world.root}\n")  # DW-094


class TestSeveralCommands:
    """Commands of one stop change the files of each other."""

    def test_a_failure_is_told_though_a_later_command_changes_the_file(self, world):
        """DW-A46: a linter before a formatter."""
        world.command("sh:exit 1", name="lint").command("sh:echo tidy > $1", name="tidy")
        stop = world.stop()

        assert stop.verdict is Verdict.DENY
        assert [one.rule for one in stop.decision.reasons] == ["lint"]
        assert "exit code 1" in stop.decision.reasons[0].text

    def test_a_failure_is_told_though_files_came_that_trigger_it(self, world):
        """One that leaves a copy is about other files then, and must not make them for ever."""
        world.command('sh:cat "$1" >> "$1.py"')

        assert world.stop().verdict is Verdict.DENY

    def test_a_failure_is_told_though_the_command_made_what_was_missing(self, world):
        front = "pair:\n  trigger: '{p}.py'\n  expects: '{p}.md'\naction:\n  command: 'sh half.sh {file}'"
        (world.root / "half.sh").write_text("echo half > a.md\nexit 3\n")
        stop = world.policy("docs", front).stop()

        assert stop.verdict is Verdict.DENY
        assert "exit code 3" in stop.decision.reasons[0].text
        assert world.held()["status"] == "failed"
        assert world.stop().verdict is Verdict.DENY, "until its files change"

    def test_a_promise_stands_for_what_commands_of_the_same_stop_make_of_the_files(self, world):
        """DW-084, DW-A25, DW-A47: nobody is asked again because of a formatter."""
        world.policy("readme", "trigger: '**/*.py'\nsafety: README.md", "Look at README.")
        world.command("sh:sed -i s/untidy/tidy/ $1")
        assert world.stop().verdict is Verdict.DENY

        for text in ("untidy\n", "untidy once more\n"):
            world.repository.write("a.py", text)
            assert world.stop().verdict is Verdict.DENY, "other content is looked at again"
            world.repository.write("a.py", text)
            world.say("<promise>readme</promise>")
            assert world.stop().verdict is Verdict.ALLOW
            assert world.stop().verdict is Verdict.ALLOW
        entries = [world.queue.held(name) for name in world.queue.names]
        assert {one["status"] for one in entries if one["policy_name"] == "readme"} == {"passed"}


class TestTrust:
    def test_what_nobody_trusts_waits(self, world):
        world.trust = lambda: Trust(TrustState.UNTRUSTED, "nobody has trusted it")
        stop = world.command("sh:true").stop()

        assert (stop.verdict, world.ran) == (Verdict.ALLOW, [])
        assert world.held()["status"] == "queued"
        assert world.processes <= 4  # of git: nothing can have changed between the rounds
        world.trust = Trust.for_one_run
        world.stop()
        assert (world.held()["status"], world.ran) == ("passed", ["a.py"])

    def test_what_nobody_trusts_waits_whatever_else_is_wrong(self, world):
        world.trust = lambda: Trust(TrustState.UNTRUSTED, "nobody has trusted it")
        world.repository.git("add", "a.py")
        (world.root / "a.py").unlink()

        assert world.command("sh:true").stop().verdict is Verdict.ALLOW
        assert world.held()["status"] == "queued"

    def test_what_nobody_trusts_waits_for_no_lock(self, world):
        world.trust = lambda: Trust(TrustState.UNTRUSTED, "nobody has trusted it")
        (world.root / ".bylaw/state/policy-commands.lock").mkdir(parents=True)

        assert world.command("sh:true").stop().verdict is Verdict.ALLOW
        world.trust = Trust.for_one_run
        [reason] = world.stop().decision.reasons
        assert "cannot use `.bylaw/state/policy-commands.lock`" in reason.text

    def test_trust_that_ends_between_the_runs(self, world):
        # Asked before anything is looked at, and right before each start.
        answers = [*[Trust.for_one_run()] * 2, Trust(TrustState.UNTRUSTED, "no")]
        world.trust = lambda: answers.pop(0)
        world.command('sh:echo b > "$1"').stop()
        assert world.held()["status"] == "failed"
        assert result(world)["reason"] == "`sh tidy.sh a.py`: no when it ran a second time"


class TestPromises:
    def test_a_failed_one_is_acknowledged(self, world):
        world.command("sh:exit 1").stop()
        world.say("<promise>tidy</promise>")

        assert world.held()["status"] == "skipped"
        assert result(world)["type"] == "command"
        assert result(world)["output"] == "acknowledged by promise"
        assert world.stop().verdict is Verdict.ALLOW
        assert world.ran == ["a.py"]


def test_the_summary(world):
    """DW-122, DW-A37"""
    world.command("sh:true").stop()
    queue, now = world.queue.queue, 1_705_406_400_000
    write_summary(str(world.root), queue, lambda: ["tidy"], now, world.notes.append)
    assert (
        (world.root / ".deepwork/policy_state.json").read_text()
        == """{
  "version": 1,
  "updated_at": "2024-01-16T12:00:00.000Z",
  "counts": {
    "queued": 0,
    "passed": 1,
    "failed": 0,
    "skipped": 0
  },
  "policies": [
    "tidy"
  ]
}
"""
    )


def test_a_file_that_is_staged_and_not_in_the_work_tree(world):
    """No command can work on it, and the next commit has it: that is told."""
    world.repository.git("add", "a.py")
    (world.root / "a.py").unlink()

    assert world.command("sh:echo fine").stop().verdict is Verdict.DENY
    assert world.ran == []
    assert world.held()["status"] == "failed"
    why = "nothing was run: `a.py` is not in the work tree; if it is staged"
    assert result(world)["reason"].startswith(why)

    world.repository.git("reset", "-q")
    assert world.stop().verdict is Verdict.ALLOW


@pytest.mark.parametrize("folder", [".deepwork", ".deepwork/tmp", ".deepwork/tmp/policy/queue"])
@pytest.mark.parametrize(("ending", "status"), [("exit 0", "passed"), ("exit 3", "failed")])
def test_a_command_that_removes_the_queue(world, folder, ending, status):
    """DW-072: it is made anew, and says what became of the command."""
    world.command(f"sh:rm -rf {folder}; echo x > $1; {ending}")

    verdict = world.stop().verdict

    assert verdict is (Verdict.ALLOW if status == "passed" else Verdict.DENY)
    assert world.held()["status"] == status
    assert (world.root / ".deepwork/tmp/.gitignore").read_text() == "*\n"
    assert world.stop().verdict is verdict


def test_secrets_in_what_a_command_says(world):
    """DW-135"""
    world.redacted = lambda text: text.replace("12345", "[redacted]")
    world.command("sh:echo key=12345").stop()
    assert result(world)["stdout"] == "key=[redacted]\n"


class TestSideBySide:
    """DW-132: eight workers and one give the same states and the same output."""

    # Each waits until all workers have begun.
    SCRIPT = """sh:echo begun >> order
    while [ "$(grep -c begun order)" -lt "$(cat workers)" ]; do sleep 0.01; done
    echo ended >> order
    case "$1" in 07.py|03.py) echo "$1"; exit 3;; esac; echo x > "$1\""""

    def stopped(self, path, workers, monkeypatch):
        monkeypatch.setattr("bylaw.worktree.command_runs.MAX_PARALLEL", workers)
        monkeypatch.setattr(os, "cpu_count", lambda: 8)
        path.mkdir()
        world = World(path)
        (world.root / ".git/info/exclude").write_text("order\nworkers\n")
        (world.root / "workers").write_text(f"{workers}\n")
        for number in range(8):
            world.repository.write(f"{number:02}.py", f"{number}\n")
        answer = world.command(self.SCRIPT).stop()
        order = (world.root / "order").read_text().split()
        entry = {**world.held(), "created_at": 0, "evaluated_at": 0, "baseline_ref": 0}
        # Two repositories have two first commits, by which entries are named.
        del entry["trigger_hash"]
        return order, (entry, [one.text for one in answer.decision.reasons])

    def test_the_same_result_in_any_order(self, tmp_path, monkeypatch):
        one_by_one, slow = self.stopped(tmp_path / "1", 1, monkeypatch)
        together, fast = self.stopped(tmp_path / "8", 8, monkeypatch)

        assert one_by_one == ["begun", "ended"] * 8
        assert together == ["begun"] * 8 + ["ended"] * 8
        assert slow == fast
        assert fast[0]["status"] == "failed"
        assert (
            fast[0]["action_result"]["stdout"]
            == "$ sh tidy.sh 03.py\n03.py\n$ sh tidy.sh 07.py\n07.py\n"
        )


def noting(method, asked):
    """A method of `Git` that also notes what it is asked."""

    def noted(self, folder, *words, **data):
        asked.append((words[0], data.get("question", b"").decode().split()))
        return method(self, folder, *words, **data)

    return noted


class TestGathering:
    def test_without_policies_git_is_not_started(self, world):
        with world.open() as (host, loop):
            loop.take([AgentStop(session="worktree")])
            assert host.tree.processes == 0

    @pytest.mark.parametrize("each", [1, 10])
    def test_one_git_diff_for_all_policies(self, world, monkeypatch, each):
        """DW-130: baselines that differ are asked for together, each once."""
        baselines = ("base", "default_tip", "prompt")
        for compare_to in baselines:
            for number in range(each):
                front = f"trigger: '**/*.py'\ncompare_to: {compare_to}"
                world.policy(f"{compare_to}-{number}", front, "Look.")
        world.repository.commit(one="x")
        world.repository.capture()
        world.repository.commit(two="x")
        world.repository.write("b.py")
        asked = []
        for name in ("run", "ask"):
            monkeypatch.setattr(Git, name, noting(getattr(Git, name), asked))

        with world.open() as (host, loop):
            [answer] = loop.take([AgentStop(session="worktree")])
            assert answer.verdict is Verdict.DENY
            assert len(host.pop_shown()) == 3 * each

        head, captured, first = world.repository.git("rev-list", "HEAD").split()
        [compared] = [commits for name, commits in asked if name == "diff-tree"]
        assert sorted(compared[:-1]) == sorted([first, head, captured, head])
        assert [name for name, _ in asked] == ["rev-parse", "status", "diff-tree"]

    def test_one_look_at_the_queue_for_all_policies(self, world, monkeypatch):
        """DW-074: policies that are about other files cost no question."""
        looks = []
        opened = QueueFolder.lock
        monkeypatch.setattr(
            QueueFolder, "lock", lambda self, **how: looks.append(how) or opened(self, **how)
        )
        world.policy("ours", "trigger: a.py", "Look.").stop()
        looks.clear()
        world.stop()
        alone, looks[:] = len(looks), []
        for number in range(50):
            world.policy(f"other-{number}", f"trigger: elsewhere-{number}/*", "Look.")
        world.stop()
        assert len(looks) == alone

    def test_only_entries_of_policies_in_force_are_facts(self, world):
        world.policy("ours", "trigger: a.py", "Look.").policy("off", "trigger: '*.py'", "Look.")
        world.stop()
        world.queue.write(policy="gone", files=("1",))
        off = ("policies:.deepwork/policies/off.md#off",)
        answer = world.submit(AgentStop(session="worktree", facts=WorkFacts(disabled=off)))
        assert [one.policy for one in answer.event.facts.entries.values()] == ["ours"]

    def test_no_repository_is_told_and_unknown(self, world, tmp_path):
        """DW-A42"""
        world.command("sh:true")
        world.root = tmp_path / "elsewhere"
        world.root.mkdir()
        answer = world.stop()
        assert answer.event.facts.unknown == ("changes:base", "entries:open")
        assert world.notes == [f"`{world.root}` is not in a git repository"]
        assert not any(world.root.iterdir())

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
    def test_a_queue_of_another_user_is_told(self, world):
        world.command("sh:true")
        world.queue.path.mkdir(parents=True)
        os.chown(world.queue.path, 12345, 12345)
        world.stop()
        assert world.notes[-1].endswith("queue`: it belongs to another user")
        assert world.ran == []

    def test_a_baseline_is_captured(self, world):
        """DW-123"""
        with world.open() as (host, _):
            step = BaselineCapture(ref="prompt")
            plan = Plan(uid="u", rule="r", steps=(step,))
            event = Prompt(at=1_705_406_400_000)
            outcome = host.performers[Op.BASELINE_CAPTURE](DueStep(1, plan, step), event)
        assert outcome.result["result"].endswith("/prompt_1705406400.json")
        assert (world.root / outcome.result["result"]).exists()
