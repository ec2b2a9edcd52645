"""The known faults of the former implementation of file policies: none of them is ours.

Their numbers stand in the names. Everything goes through `bylaw` as a process and real git, save
where a test says why not.
"""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256

import pytest
from git_repository import Repository
from queueing import PASSED, QUEUED, Folder

from bylaw.languages import file_policies
from bylaw.languages.base import RuleFile
from bylaw.languages.file_policies.syntax import Mode, PolicySyntax
from bylaw.model.facts import ChangedFile, ChangeSet
from bylaw.model.source import SourceFile
from bylaw.model.vocabulary import FileStatus
from bylaw.report.policies import policy_message_lines
from counting import growth

BYLAW = [sys.executable, "-m", "bylaw"]
NOTHING = "no policy needs attention\n"


class Project:
    """A repository with policies."""

    def __init__(self, repository):
        self.repository = repository
        self.root = repository.path
        self.write = repository.write
        self.git = repository.git
        self.queue = Folder(self.root)

    def policy(self, name, front, body="Look at {trigger_files}."):
        self.write(f".deepwork/policies/{name}.md", f"---\n{front}\n---\n{body}\n")

    def command(self, name, script, more="", trigger="src/*.py"):
        self.write(f"{name}.sh", script)
        action = f"action:\n  command: sh {name}.sh {{file}}\n{more}"
        self.policy(name, f'trigger: "{trigger}"\n{action}')

    def start(self, *words, folder="", said=None, home=None, **variables):
        variables = os.environ | variables | ({"HOME": str(home)} if home else {})
        return subprocess.Popen(
            [*BYLAW, *words],
            cwd=self.root / folder,
            env=variables,
            stdin=subprocess.PIPE if said is not None else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def bylaw(self, *words, said=None, **more):
        with self.start(*words, said=said, **more) as process:
            output, errors = process.communicate(said, timeout=300)
        assert "Traceback" not in errors
        return process.returncode, output, errors

    def run(self, *words, said=None, **more):
        heard = () if said is None else ("--assistant-text", "-")
        return self.bylaw("policies", "run", "--trust", *heard, *words, said=said, **more)

    def entries(self):
        return [self.queue.held(name) for name in self.queue.names]


@pytest.fixture
def project(tmp_path):
    """With one commit; it has no remote."""
    repository = Repository(tmp_path / "repository")
    repository.write("src/old.py", "old\n")
    repository.write(".gitignore", "log\n*.sh\n.deepwork/policies\n.deepwork/policy_state.json\n")
    repository.commit()
    return Project(repository)


@pytest.fixture
def three_baselines(tmp_path):
    """A clone with a policy for each baseline, all of which differ."""
    upstream = Repository(tmp_path / "upstream")
    upstream.write("src/old.py", "old\n")
    upstream.write(".gitignore", ".deepwork\n")
    upstream.commit()
    clone = Project(upstream.clone("clone"))
    upstream.commit(theirs="x")
    clone.git("fetch", "-q")
    clone.git("switch", "-q", "-c", "work")
    clone.repository.commit(mine="x")
    for name in ("base", "default_tip", "prompt"):
        clone.policy(name, f"trigger: '**'\ncompare_to: {name}")
    assert clone.bylaw("policies", "baseline")[0] == 0
    clone.repository.commit(later="x")
    return clone


def test_bug_1_nothing_is_staged(three_baselines):
    three_baselines.write("src/old.py", "new\n")
    three_baselines.write("notes.txt", "mine\n")
    index = (three_baselines.root / ".git/index").read_bytes()

    assert three_baselines.run()[0] == 1

    assert (three_baselines.root / ".git/index").read_bytes() == index
    status = three_baselines.git("status", "--porcelain").splitlines()
    assert [line.strip() for line in status] == ["M src/old.py", "?? notes.txt"]


@pytest.fixture
def traced(tmp_path):
    """A home whose settings make git write down each start, and what was started."""
    log, home = tmp_path / "git.log", tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(f"[trace2]\n\tnormalTarget = {log}\n")
    return home, lambda: [line for line in log.read_text().splitlines() if " start " in line]


def test_bug_2_git_is_started_a_few_times(three_baselines, traced):
    """They were 38."""
    home, started = traced
    code, output, _ = three_baselines.run(home=home)

    assert code == 1
    assert output.count("\n## ") == 3
    assert 0 < len(started()) <= 4, started()


def test_bug_2_nor_more_often_for_commands_that_nobody_trusts(project, traced):
    home, started = traced
    for number in range(10):
        project.policy(f"p{number}", 'trigger: "**"\naction:\n  command: "true {file}"', body="")
    project.write("src/old.py", "new\n")

    code, _, _ = project.bylaw("policies", "run", home=home)

    assert code == 1
    assert 0 < len(started()) <= 4, started()


@pytest.mark.parametrize("count", [1, 20])
def test_bug_2_nor_for_commands_that_run(project, traced, count):
    home, started = traced
    for number in range(count):
        project.command(f"p{number}", f"echo {number} > made-{number}; echo {number} > $1")
    project.write("src/old.py", "new\n")

    assert project.run(home=home)[0] == 0
    assert {entry["status"] for entry in project.entries()} == {"passed"}
    assert 0 < len(started()) <= 4, started()


@pytest.mark.parametrize("is_staged", [False, True])
def test_bug_3_file_names_are_what_they_are(project, is_staged):
    names = ["src/é ü.py", 'src/"quoted".py', "src/tab\t.py", "src/back\\slash.py"]
    for name in names:
        project.write(name)
    if is_staged:
        project.git("add", "src")
    project.policy("look", "trigger: src/*.py")

    assert project.run()[0] == 1

    [entry] = project.entries()
    assert entry["trigger_files"] == sorted(names)


def test_bug_4_without_a_remote_changes_are_seen(project):
    project.policy("base", "trigger: src/*.py\ncompare_to: base")
    project.policy("tip", "trigger: src/*.py\ncompare_to: default_tip")
    project.write("src/new.py")

    code, output, _ = project.run()

    assert (code, output.count("Look at src/new.py.")) == (1, 2)


def test_bug_4_nor_is_all_well_when_git_cannot_tell(project):
    project.policy("look", "trigger: src/*.py")
    project.write("src/new.py")
    for path in (project.root / ".git/objects").rglob("*"):
        if path.is_file():
            path.unlink()

    code, output, errors = project.run()

    assert (code, output) == (1, "")
    assert "`look` cannot be checked" in errors


def test_bug_5_an_invalid_policy_leaves_the_others_in_force(project):
    project.policy("broken", "trigger: src/{path.py")
    project.policy("look", "trigger: src/*.py")
    project.write("src/new.py")

    code, output, errors = project.run()

    assert code == 1
    assert "## look\nLook at src/new.py." in output
    assert "broken.md" in errors


def test_bug_5_also_if_nothing_else_is_wrong(project):
    """It never looks as if all were well."""
    project.policy("broken", "trigger: src/{path.py")
    assert project.run()[0] == 1


def test_bug_6_each_edit_counts(project):
    project.command("format", 'echo "$1" >> log')
    for number in range(3):
        project.write("src/new.py", f"{number}\n")
        assert project.run()[:2] == (0, NOTHING)

    assert (project.root / "log").read_text().split() == ["src/new.py"] * 3
    assert len(project.queue.names) == 1


def test_bug_6_each_edit_is_told_after_a_promise(project):
    project.policy("look", "trigger: src/*.py")
    for number in range(3):
        project.write("src/new.py", f"{number}\n")
        assert project.run()[0] == 1
        assert project.run(said="<promise>look</promise>")[0] == 0


def test_bug_7_one_more_file_is_told_once_and_leaves_nothing_behind(project):
    """The hash is one of all files, by definition: the policy is told of them anew, as one entry."""
    project.policy("look", "trigger: src/*.py")
    project.write("src/a.py")
    project.run()
    project.write("src/b.py")

    _, output, _ = project.run()

    assert output.count("## look\nLook at src/a.py, src/b.py.") == 1
    told = {entry["status"]: entry["trigger_files"] for entry in project.entries()}
    assert told == {"skipped": ["src/a.py"], "queued": ["src/a.py", "src/b.py"]}
    assert project.run(said="<promise>look</promise>")[:2] == (0, NOTHING)
    assert project.run()[:2] == (0, NOTHING)


def test_bug_8_a_promise_is_heard(project):
    """What the agent said is given as text, so there is no form of a transcript to mistake."""
    project.policy("look", "name: README Accuracy\ntrigger: src/*.py")
    project.write("src/new.py")
    assert project.run()[0] == 1

    said = "All is well.\n\n<promise>✓ readme accuracy</promise>\n"
    assert project.run(said=said)[:2] == (0, NOTHING)
    assert project.entries()[0]["status"] == "passed"


def test_bug_8_a_promise_is_heard_in_a_transcript(project):
    """In the form that lines of Claude Code have: the role is that of the message in them."""
    project.policy("look", "trigger: src/*.py")
    project.write("src/new.py")
    session = Session(project, "one")
    assert "src/new.py" in session.stop()

    said = {"role": "assistant", "content": [{"type": "text", "text": "<promise>look</promise>"}]}
    transcript = project.root.parent / "transcript.jsonl"
    transcript.write_text(json.dumps({"type": "assistant", "message": said}) + "\n")

    assert session.stop(None, transcript_path=str(transcript)) == ""
    assert project.entries()[0]["status"] == "passed"


def test_bug_9_of_many_processes_one_makes_the_entry(project):
    project.command("tidy", 'echo "$1" >> log')
    for number in range(3):
        project.write("src/new.py", f"{number}\n")
        processes = [project.start("policies", "run", "--trust") for _ in range(8)]
        told = [process.communicate(timeout=300) for process in processes]

        assert [process.returncode for process in processes] == [0] * 8, told
        assert len(project.queue.names) == 1
        assert (project.root / "log").read_text().split() == ["src/new.py"] * (number + 1)


def test_bug_10_two_states_of_one_entry(project):
    """As a crash of the former one left them: nobody can say which is true, so none is believed."""
    project.policy("look", "trigger: src/*.py")
    project.write("src/new.py")
    project.run()
    [queued] = project.queue.names
    left = (project.queue.path / queued).read_bytes()
    project.run(said="<promise>look</promise>")
    (project.queue.path / queued).write_bytes(left)

    code, _, errors = project.run()

    assert (code, errors.count("the same entry has another state")) == (1, 2)
    assert project.queue.names == [queued]
    assert project.entries()[0]["shown"] == 1
    assert project.run(said="<promise>look</promise>")[:2] == (0, NOTHING)
    assert len(project.queue.names) == 1


def test_bug_10_what_is_finished_is_not_queued_again(folder):
    """Nobody can ask for that from outside, so the queue is asked."""
    folder.write(QUEUED)
    folder.write(PASSED)

    assert folder.write(QUEUED) is None
    assert [name.split(".")[1] for name in folder.names] == ["passed"]


@pytest.mark.parametrize("text", ["{", "waiting", "\0"])
def test_bug_11_a_corrupt_entry_blocks_nobody_for_ever(project, text):
    project.policy("look", "trigger: src/*.py")
    project.write("src/new.py")
    project.run()
    [name] = project.queue.names
    if text == "waiting":  # a state that nobody knows, in an entry that is whole
        text = json.dumps(project.queue.held(name) | {"status": text})
    (project.queue.path / name).write_text(text)

    code, output, errors = project.run()

    assert (code, "Look at src/new.py." in output) == (1, True)
    assert f"{name}` was corrupt and was removed" in errors
    assert project.run(said="<promise>look</promise>")[:2] == (0, NOTHING)


def test_bug_12_a_bad_pattern_is_found_when_it_is_loaded(project):
    names = ["{my-var}", "{1a}", "{{path}}", "{***x}", "{path", "{}", "{path}{name}"]
    for number, name in enumerate(names):
        project.policy(f"bad{number}", f"trigger: 'src/{name}.py'")
    project.write("src/new.py")

    code, output, _ = project.bylaw("check")
    ran, _, errors = project.run()

    assert (code, ran) == (1, 1)
    for number, name in enumerate(names):
        assert f"bad{number}.md" in output, name
        assert f"bad{number}.md" in errors, name


def test_bug_12_wildcards_have_no_names_that_could_collide(project):
    project.policy("one", "trigger: 'src/{*}{*}.py'")
    project.policy("two", "trigger: 'src/{**}{path}.py'")
    project.write("src/new.py")

    assert project.run()[1].count("Look at src/new.py.") == 2


def test_bug_13_what_cannot_be_resolved_is_found_when_it_is_loaded(project):
    project.policy("one", "set: ['src/{**}.py', 'tests/{path}.py']")
    project.policy("two", "pair: {trigger: 'src/{path}.py', expects: 'docs/{other}.md'}")
    project.policy("three", "set: ['src/{path}.py', 'docs/{path}/{other}.md']")
    project.write("src/new.py")

    code, output, errors = project.run()

    assert (code, output) == (1, "")
    assert all(f"{name}.md" in errors for name in ("one", "two", "three"))


def test_bug_13_a_glob_that_is_left_can_be_satisfied(project):
    project.policy("tests", "set: ['src/**/*.py', 'tests/**/*.py']")
    project.write("src/new.py")
    assert "src/new.py → tests/**/*.py\n" in project.run()[1]

    project.write("tests/any.py")
    assert project.run()[:2] == (0, NOTHING)


def test_bug_13_what_was_captured_is_not_filled_in_again(project):
    project.policy("pairs", "pair: {trigger: 'src/{a}/{b}.py', expects: 'docs/{a}/{b}.md'}")
    project.write("src/{b}/x.py")

    assert "src/{b}/x.py → docs/{b}/x.md\n" in project.run()[1]


def test_bug_13_nothing_leads_out_of_the_repository(project, tmp_path):
    """Git has no path with `..`; a policy may ask about one."""
    project.policy("pairs", "pair: {trigger: 'src/{path}.py', expects: 'docs/{path}.md'}")

    code, _, errors = project.bylaw("policies", "explain", "src/../../etc/passwd.py")

    assert code == 1
    assert "outside" in errors
    assert not (tmp_path / "etc").exists()


def test_bug_14_each_file_has_its_own_arrow(project):
    project.policy("tests", "set: ['src/{path}.py', 'tests/{path}_test.py']")
    project.write("src/a.py")
    project.write("src/b.py")

    arrows = [line for line in project.run()[1].splitlines() if "→" in line]

    assert arrows == ["src/a.py → tests/a_test.py", "src/b.py → tests/b_test.py"]


def test_bug_15_the_steps_grow_with_the_files_not_with_their_square():
    """Without a process, in which the rest would take most of the time."""
    policy = PolicySyntax(
        id="tests", title="tests", mode=Mode.SET, trigger=("src/{path}.py", "tests/{path}_test.py")
    )

    def message(number):
        files = tuple(
            ChangedFile(path=f"src/f{n:06}.py", status=FileStatus.ADDED, digest="d")
            for n in range(number)
        )
        assert len(policy_message_lines(policy, ChangeSet(ref="abc", files=files))) == number

    assert growth(message, 4_000) < 2.5


def test_bug_15_no_pattern_can_take_for_ever():
    """Several variables across folders were what grew beyond all bounds."""
    text = "---\ntrigger: '{**a}/{**b}/{**c}/{**d}/{**e}.py'\n---\nLook.\n"
    file = RuleFile(SourceFile(".deepwork/policies/slow.md", text), "slow")
    assert file_policies.load([file]).diagnostics


def test_bug_16_deleted_and_renamed_files(project):
    project.policy("look", "trigger: src/*.py")
    project.git("mv", "src/old.py", "src/new.py")

    assert "Look at src/new.py, src/old.py." in project.run()[1]

    project.git("rm", "-q", "-f", "src/new.py")
    assert "Look at src/old.py." in project.run()[1]


def test_bug_17_two_policies_of_one_name_share_nothing(project):
    project.policy("one", "name: Same\ntrigger: src/*.py", "First.")
    project.policy("two", "name: Same\ntrigger: src/*.py", "Second.")
    project.write("src/new.py")

    _, output, _ = project.run()

    assert output.count("## Same\n") == 2
    assert sorted(entry["policy_name"] for entry in project.entries()) == ["one", "two"]
    assert project.run(said="<promise>one</promise>")[1].count("## Same\nSecond.") == 1


def test_bug_17_no_name_can_be_taken_for_name_files_and_baseline(project):
    """`a:['x']` and `['x']:a` would be joined to the same text."""
    project.policy("a:['src~new.py']", "trigger: src/*.py")
    project.write("src/new.py")

    code, output, errors = project.run()

    assert (code, output) == (1, "")
    assert "policy-identifier" in errors


@pytest.mark.parametrize("how", ["here", "root"])
def test_bug_18_any_folder_of_the_repository_will_do(project, how):
    project.policy("look", "trigger: src/*.py")
    project.command("where", "test -d .git && echo here >> log")
    project.write("src/deep/er/x.txt")
    project.write("src/new.py")
    more = {"folder": "src/deep/er"} if how == "here" else {}
    words = () if how == "here" else ("--root", "src/deep")

    code, output, _ = project.run(*words, **more)

    assert (code, "Look at src/new.py." in output) == (1, True)
    assert (project.root / "log").read_text() == "here\n"
    assert not (project.root / "src/deep/er/.deepwork").exists()


def test_bug_18_the_folder_that_a_client_tells_counts(project):
    """Not the one in which it happened to start the hook."""
    project.policy("look", "trigger: src/*.py")
    project.write("src/new.py")
    elsewhere = project.root.parent / "elsewhere"
    elsewhere.mkdir()

    assert "src/new.py" in Session(project, "one", started_in="../elsewhere").stop()
    assert not list(elsewhere.iterdir())


def test_bug_19_all_runs_are_kept(project):
    script = 'echo "saw $1"; echo "of $1" >&2; test "$1" != src/b.py || exit 3'
    project.command("lint", script)
    for name in ("a", "b", "c"):
        project.write(f"src/{name}.py")

    code, output, _ = project.run()

    [entry] = project.entries()
    said = entry["action_result"]
    assert (code, "exit code 3" in output) == (1, True)
    assert (said["exit_code"], said["stdout"]) == (3, "saw src/b.py\n")
    runs = [(run["exit_code"], run["stdout"], run["stderr"]) for run in said["runs"]]
    assert runs == [
        (0, "saw src/a.py\n", "of src/a.py\n"),
        (3, "saw src/b.py\n", "of src/b.py\n"),
        (0, "saw src/c.py\n", "of src/c.py\n"),
    ]


def test_bug_19_a_time_out_is_no_exit_code(project):
    project.write("bylaw.toml", "[command]\ntimeout_s = 1\n")
    project.command("hang", "sleep 600")
    project.write("src/new.py")

    assert "took longer than 1 s" in project.run()[1]

    [entry] = project.entries()
    assert (entry["status"], entry["action_result"]["exit_code"]) == ("failed", None)


def test_bug_19_what_failed_runs_again_after_an_edit(project):
    project.command("lint", 'echo "$1" >> log; grep -q good "$1"')
    project.write("src/new.py", "bad\n")
    assert project.run()[0] == 1
    assert project.run()[0] == 1
    project.write("src/new.py", "good\n")

    assert project.run()[:2] == (0, NOTHING)
    assert (project.root / "log").read_text().split() == ["src/new.py"] * 2


def test_bug_20_a_name_with_a_line_break(project):
    project.policy("pairs", "pair: {trigger: 'src/{path}.py', expects: 'docs/{path}.md'}")
    project.write("src/two\nlines.py")

    code, output, _ = project.run()

    assert code == 1
    assert output.count("→") == 1
    [entry] = project.entries()
    assert entry["trigger_files"] == ["src/two\nlines.py"]
    assert entry["expected_files"] == ["docs/two\nlines.md"]


def test_bug_21_nobody_overwrites_a_baseline(project):
    project.policy("look", "trigger: src/*.py\ncompare_to: prompt")
    with ThreadPoolExecutor(4) as threads:
        words = ("policies", "baseline", "--format", "json")
        told = list(threads.map(lambda _: project.bylaw(*words), range(4)))

    paths = [json.loads(output)["path"] for _, output, _ in told]
    assert len(set(paths)) == 4
    assert all((project.root / path).is_file() for path in paths)
    assert project.run()[:2] == (0, NOTHING)
    project.write("src/new.py")
    assert project.run()[0] == 1


def test_bug_3_names_that_are_no_utf8_by_the_formula_and_written_out_once(project):
    """DW-A13: what looks the same once it is written out is told apart."""
    project.policy("look", "trigger: src/*.py")
    names = [os.fsdecode(b"src/\xff.py"), r"src/\u{dcff}.py", "src/a\nb.py"]
    for name in names:
        project.write(name)

    _, told, _ = project.run()
    _, status, _ = project.bylaw("policies", "status")

    shown = [r"src/\u{5c}u{dcff}.py", r"src/\u{dcff}.py", r"src/a\u{a}b.py"]
    assert f"Look at {', '.join(shown)}." in told
    assert [line.strip() for line in status.splitlines() if "src/" in line] == shown
    [entry] = project.entries()
    text = f"look:{sorted(names)}:{project.repository.head}"
    assert entry["trigger_hash"] == sha256(text.encode()).hexdigest()[:12]


@dataclass
class Session:
    """A session of Claude Code in a project."""

    project: Project
    id: str
    started_in: str = ""

    def prompt(self):
        assert self._hook("UserPromptSubmit", prompt="Go on.") == (0, "")

    def stop(self, text="Done.", **fields):
        """What blocks the stop, if anything."""
        told = {} if text is None else {"last_assistant_message": text}
        code, why = self._hook("Stop", **told, **fields)
        assert (code, bool(why)) in ((0, False), (2, True)), why
        return why

    def _hook(self, event, **fields):
        about = {"session_id": self.id, "cwd": str(self.project.root), "hook_event_name": event}
        code, _, errors = self.project.bylaw(
            *("hook", "claude", event),
            said=json.dumps({**about, **fields}),
            folder=self.started_in,
            home=self.project.root.parent / "home",
            BYLAW_RESIDENT="0",
        )
        return code, errors


def test_bug_21_each_session_is_asked_about_what_came_after_its_own_prompt(project):
    project.policy("look", "trigger: src/*.py\ncompare_to: prompt")
    one, two = Session(project, "one"), Session(project, "two")

    one.prompt()
    project.write("src/a.py")
    two.prompt()  # at once a beginning for `one`, if they shared it
    assert two.stop() == ""
    assert "src/a.py" in one.stop()

    project.write("src/b.py")
    asked = two.stop()
    assert "src/b.py" in asked
    assert "src/a.py" not in asked


def test_bug_21_what_one_session_is_shown_another_neither_closes_nor_answers(project):
    project.policy("look", "trigger: src/*.py\ncompare_to: prompt")
    one, two = Session(project, "one"), Session(project, "two")
    one.prompt()
    two.prompt()
    project.write("src/a.py")
    assert "src/a.py" in one.stop()
    assert "src/a.py" in two.stop()
    assert [entry["status"] for entry in project.entries()] == ["queued", "queued"]

    assert two.stop("<promise>look</promise>") == ""
    statuses = sorted(entry["status"] for entry in project.entries())
    assert statuses == ["passed", "queued"]

    assert "src/a.py" in one.stop()
    assert one.stop("<promise>look</promise>") == ""
    assert [entry["status"] for entry in project.entries()] == ["passed", "passed"]


def test_bug_22_only_three_hyphens_are_a_delimiter(project):
    front = "\ntrigger: src/*.py\n"
    ends = [("---", "----"), ("---", "---foo"), ("---foo", "---"), ("----", "---")]
    for number, (first, last) in enumerate(ends):
        project.write(f".deepwork/policies/p{number}.md", f"{first}{front}{last}\nLook.\n")
    project.write("src/new.py")

    code, output, errors = project.run()

    assert (code, output) == (1, "")
    assert all(f"p{number}.md" in errors for number in range(len(ends)))


def test_bug_22_the_body_may_have_any_line(project):
    project.policy("look", "trigger: src/*.py", "One.\n\n---\n\n----\nTwo.")
    project.write("src/new.py")

    assert "## look\nOne.\n\n---\n\n----\nTwo.\n" in project.run()[1]
