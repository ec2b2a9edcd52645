"""What changed on disk, whoever changed it: `file` events of a hook, found by git."""

import os
import subprocess
import sys

import pytest
from called_hooks import Repository

from bylaw.cli import main
from bylaw.hosts.clients import load_adapter
from bylaw.hosts.hooks import disk_changes
from bylaw.hosts.hooks.payload import decide_event, read_event
from bylaw.store.journal.records import STORED_QUERY, record_from_row
from bylaw.store.journal.search import JournalReader
from bylaw.worktree import tree_diff

LAW = """dsl_version: "0.1"
rules:
  - rule_id: R-SEEN
    priority: 10
    trigger: {kind: fs_event, match: {paths: [%s], event_types: [created, modified, deleted, renamed]}}
    actions:
      - {type: run_cmd, cmd: "python -I note.py", cwd: src, timeout_sec: 60}
      - {type: write_bus, channel: output, template: "{{type}} {{path}}"}
"""
PHASE = "- **Active Phase**: `2`\n"
WHO = ("-c", "user.name=a", "-c", "user.email=a@b")


class Session(Repository):
    """A repository with a rule about files, and hooks called in this process."""

    host = "claude"

    def git(self, *arguments):
        """Run git as a person does."""
        subprocess.run(["git", *WHO, *arguments], cwd=self.root, check=True, capture_output=True)

    def law(self, paths='"src/**", "docs/**"'):
        """Put the rule in force."""
        self.write("SHARED_CONTEXT.md", PHASE)
        self.write("runtime/rules/seen.yaml", LAW % paths)

    def hear(self, event, **fields):
        """One hook; what it prints."""
        said = []
        adapter = load_adapter(self.host)
        heard = read_event(adapter, event, self.payload(event, **fields))
        decide_event(adapter, heard, str(self.root), said.append)
        return said[0]

    def tool(self, name, **arguments):
        """What a client tells of a call."""
        return {"tool_name": name, "tool_input": arguments, "tool_use_id": "c"}

    def before(self, name="Bash", **arguments):
        """The hook before a call."""
        return self.hear("PreToolUse", **self.tool(name, **(arguments or {"command": "x"})))

    def after(self, name="Bash", **arguments):
        """The hook after a call."""
        about = self.tool(name, **(arguments or {"command": "x"}))
        return self.hear("PostToolUse", **about, tool_response={"stdout": ""})

    def stop_here(self):
        """The hook at a stop."""
        return self.hear("Stop", stop_hook_active=False, last_assistant_message="Done.")

    def run(self, command):
        """A shell tool with its two hooks; what is new on disk by it."""
        self.before(command=command)
        subprocess.run(["sh", "-c", command], cwd=self.root, check=True, capture_output=True)
        return self.new(lambda: self.after(command=command))

    def new(self, act):
        """The `file` events that something causes, in short."""
        known = len(self.files())
        act()
        return [f"{one.change} {one.path}" + (f" < {one.old_path}" if one.old_path else "")
                for one in self.files()[known:]]  # fmt: skip

    def records(self):
        """The journal."""
        path = self.root / ".bylaw/state/journal.db"
        if not path.exists():
            return []
        with JournalReader(str(path)) as reader:
            return [
                record_from_row(row).record for row in reader.each(f"{STORED_QUERY} ORDER BY r.seq")
            ]

    def files(self):
        """Its `file` events."""
        return [one.event for one in self.records() if one.event.kind == "file"]


@pytest.fixture
def session(tmp_path, monkeypatch):
    """Two files that are committed, and a rule about them."""
    made = Session(tmp_path / "root", tmp_path / "home")
    monkeypatch.setenv("HOME", str(made.home))
    made.git("init", "-q", "-b", "main")
    made.write("src/a.py", "a = 1\n")
    made.write("src/b.py", "b = 1\n")
    made.write(".gitignore", "build/\n")
    made.law()
    made.git("add", "-A")
    made.git("commit", "-qm", "first")
    return made


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("sed -i s/1/2/ src/a.py", ["modified src/a.py"]),
        ("rm src/a.py", ["deleted src/a.py"]),
        ("echo > src/new.py", ["created src/new.py"]),
        ("mv src/a.py src/c.py", ["renamed src/c.py < src/a.py"]),
        ("git mv src/a.py docs", ["renamed docs < src/a.py"]),
        ("chmod +x src/a.py", ["modified src/a.py"]),
        ("echo > other.txt", []),
        ("echo x > src/a.py && git checkout src/a.py", []),
        ("echo x > src/a.py && git commit -qam x --author='a <a@b>'", ["modified src/a.py"]),
        ("touch src/x src/y; rm src/x", ["created src/y"]),
        (": > src/b.py; : > src/e.py", ["created src/e.py", "modified src/b.py"]),
        ("mkdir -p runtime/bus && echo > runtime/bus/x", []),
    ],
)
def test_what_a_shell_did(session, command, found):
    session.git("config", "user.name", "a")
    session.git("config", "user.email", "a@b")

    assert sorted(session.run(command)) == found


def test_nothing_is_told_twice_and_a_commit_changes_no_file(session):
    session.write("src/a.py", "mine = 1\n")  # before the session

    assert session.run("true") == []
    assert session.run("echo 2 > src/a.py") == ["modified src/a.py"]
    assert session.run("true") == []
    session.git("add", "-A")
    assert session.run("true") == []
    session.git("commit", "-qm", "second")
    assert session.run("true") == []
    assert session.run("echo 2 > src/a.py") == []
    assert session.run("git checkout -q HEAD~1") == ["modified src/a.py"]
    assert session.run("git checkout -q main") == ["modified src/a.py"]
    assert session.new(session.stop_here) == []


def test_what_was_done_behind_a_tool_is_found_at_the_stop(session):
    session.run("true")
    session.write("src/a.py", "later\n")

    assert session.new(session.stop_here) == ["modified src/a.py"]
    session.write("src/a.py", "by a person\n")
    assert session.new(lambda: session.hear("UserPromptSubmit", prompt="go on")) == [
        "modified src/a.py"
    ]
    assert [one.actor for one in session.files()] == ["claude", "unknown"]


def test_a_file_tool_is_told_once_also_where_git_passes_over(session):
    session.law('"src/**", "build/**"')
    for path in ("src/new.py", "build/out.txt"):
        about = {"file_path": str(session.root / path), "content": "x"}
        session.before("Write", **about)
        session.write(path, "x")
        assert session.new(lambda told=about: session.after("Write", **told)) == [f"created {path}"]
    assert session.run("true") == []
    assert session.run("echo y > build/out.txt") == ["modified build/out.txt"]
    assert session.new(session.stop_here) == []


def test_of_what_nobody_saw_before_head_counts(session):
    """Whoever takes our notes away hides nothing."""
    session.run("true")
    session.before(command="x")
    for notes in (session.root / ".bylaw/state").glob("hook-disk-*"):
        notes.unlink()
    session.write("src/a.py", "hidden\n")

    assert session.new(session.after) == ["modified src/a.py"]


def test_readers_and_roots_without_such_rules_start_no_git(session, monkeypatch):
    started = []
    comparer = disk_changes.TreeComparer

    def counted(root, matters):
        started.append(root)
        return comparer(root, matters)

    monkeypatch.setattr(disk_changes, "TreeComparer", counted)
    session.before("Read", file_path="src/a.py")
    session.after("Read", file_path="src/a.py")
    assert started == []
    session.run("true")
    assert len(started) == 2  # what was there, and what is there
    session.run("true")
    assert len(started) == 3
    (session.root / "runtime/rules/seen.yaml").unlink()
    session.run("echo 3 > src/a.py")
    assert len(started) == 3


def test_without_git_it_is_said_once_and_tools_are_judged_by_what_they_name(tmp_path, monkeypatch):
    session = Session(tmp_path / "root", tmp_path / "home")
    monkeypatch.setenv("HOME", str(session.home))
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    session.law()

    said = session.before("Write", file_path="src/a.py")
    session.write("src/a.py", "1")
    found = session.new(lambda: session.after("Write", file_path="src/a.py"))

    assert "is not in a git repository" in said.stdout
    assert found == ["created src/a.py"]
    assert "git" not in session.after().stdout


def test_a_root_below_the_top_of_the_work_tree(session):
    inner = Session(session.root / "src", session.home)
    inner.law('"*.py", "deep/**"')

    inner.before()
    session.write("src/a.py", "x\n")
    session.write("outside.py", "x\n")
    os.renames(session.root / "src/b.py", session.root / "b.py")

    assert inner.new(inner.after) == ["modified a.py", "deleted b.py"]


def test_a_link_that_leads_out_is_told_of_and_no_rule_sees_it(session):
    session.run("true")
    session.before()
    (session.root / "src/link").symlink_to("/etc/passwd")
    said = session.after()

    (event,) = session.files()
    assert event.facts.outside == ("src/link",)
    assert "`src/link` is outside the root" in said.stdout


ODD_NAMES = [
    b"src/a\"b'\n c.py",
    b"src/\xff\xfe.py",
    b"src/a\\b.py",
    b"src/..\\x.py",
    b"C:/x.py",
    b"src/\x1b[31m.py",
    b"src/\\u{a}.py",
]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_file_with_an_odd_name_is_seen_by_rules(session, name):
    """It lies inside of the root, whatever its name would mean elsewhere."""
    session.law('"src/*.py", "C:/*.py"')
    session.run("true")
    session.before()
    session.write(os.fsdecode(name), "x = 1")
    said = session.after()

    (event,) = session.files()
    assert (event.change, event.facts.outside) == ("created", ())
    assert "is outside" not in said.stdout
    (judged,) = [one.decision for one in session.records() if one.event.kind == "file"]
    assert [plan.rule for plan in judged.plans] == ["R-SEEN"]


def test_a_file_that_no_pattern_can_name_is_told_at_the_stop(session):
    session.run("true")
    session.before()
    session.write(os.fsdecode(b"src/" + (b"\xff" * 255 + b"/") * 3 + b"x.py"), "x = 1")
    session.after()
    stopped = session.stop_here()

    assert stopped.exit_code == 2
    assert "1 file change not checked, path too long for any pattern: check" in stopped.stderr
    session.hear("UserPromptSubmit", prompt="go on")
    assert session.stop_here().exit_code == 0


def test_a_link_with_an_odd_name_that_leads_out(session):
    session.run("true")
    session.before()
    (session.root / "src/li\nnk").symlink_to("/etc/passwd")
    said = session.after()

    (event,) = session.files()
    assert event.facts.outside == ("src/li\nnk",)
    assert "is outside the root" in said.stdout


def test_plans_are_judged_and_recorded_and_nothing_is_done(session, a_person, monkeypatch):
    """Also where a person trusts the rules: acting on files is the watcher's."""
    session.write("bylaw.toml", '[command]\nroots = ["src"]\n')
    session.write("src/note.py", "open('ran', 'w')\n")
    monkeypatch.chdir(session.root)
    monkeypatch.setattr(sys, "argv", ["bylaw", "trust", "--yes"])
    assert main() == 0

    session.run("sed -i s/1/2/ src/a.py")

    effects = [one.event for one in session.records() if one.event.kind == "effect"]
    assert [(one.op, one.status) for one in effects] == [
        ("command.run", "not_carried_out"),
        ("bus.write", "not_carried_out"),
    ]
    assert "bylaw bus run" in effects[0].result["error"]
    assert not (session.root / "src/ran").exists()
    assert not (session.root / "runtime/bus").exists()


def test_what_a_rule_has_against_a_change_the_model_is_told(session):
    session.write("bylaw.toml", '[[book]]\npath = "stay.lines"\n')
    session.write("stay.lines", "deny file because files stay as they are\n")
    session.before()
    session.write("src/a.py", "x\n")
    said = session.after()

    assert "files stay as they are" in said.stdout
    assert "stay.lines:1" in said.stdout
    assert said.exit_code == 0


def test_of_a_flood_the_rest_waits_for_the_next_look(session, monkeypatch):
    monkeypatch.setattr(disk_changes, "MAX_EVENTS", 2)
    session.before()
    for number in range(7):
        session.write(f"src/{number}.txt", "x")

    said = []
    assert session.new(lambda: said.append(session.after())) == [
        "created src/0.txt",
        "created src/1.txt",
    ]
    assert "5 file changes not checked yet" in said[0].stdout
    assert session.new(session.before) == ["created src/2.txt", "created src/3.txt"]
    session.write("src/0.txt", "y")
    assert session.new(session.after) == ["created src/4.txt", "created src/5.txt"]
    assert session.new(session.stop_here) == ["created src/6.txt", "modified src/0.txt"]
    assert {one.actor for one in session.files()} == {"claude"}
    assert session.run("true") == []


def test_a_stop_that_would_leave_changes_unjudged_is_objected_to(session, monkeypatch):
    monkeypatch.setattr(disk_changes, "MAX_EVENTS", 1)
    monkeypatch.setattr(disk_changes, "MAX_AT_STOP", 2)
    session.run("for one in 1 2 3 4; do echo $one > src/$one.txt; done")

    first, second = session.stop_here(), session.stop_here()

    assert first.exit_code == 2
    assert "1 file change not checked yet: stop again" in first.stderr
    assert "rule unjudged" in first.stderr
    assert second.exit_code == 0
    assert [one.path for one in session.files()] == [f"src/{one}.txt" for one in "1234"]


def test_what_is_too_much_to_keep_is_told_at_the_stop_until_a_person_speaks(session, monkeypatch):
    monkeypatch.setattr(disk_changes, "MAX_EVENTS", 1)
    monkeypatch.setattr(disk_changes, "MAX_WAITING", 1)
    session.run("for one in 1 2 3 4; do echo $one > src/$one.txt; done")
    session.run("true")

    stopped = session.stop_here()

    assert stopped.exit_code == 2
    assert "2 file changes not checked because there were too many" in stopped.stderr
    session.hear("UserPromptSubmit", prompt="go on")
    assert session.stop_here().exit_code == 0


def test_a_stop_is_objected_to_when_there_was_too_much_from_the_beginning(session, monkeypatch):
    monkeypatch.setattr(tree_diff, "MAX_DIRTY", 2)
    for number in (1, 2, 3):
        (session.root / f"{number}.txt").touch()
    session.hear("UserPromptSubmit", prompt="go on")
    session.run("echo 3 > src/a.py")

    stopped = session.stop_here()

    assert stopped.exit_code == 2
    assert "more than 2 files differ from HEAD: cannot determine" in stopped.stderr


def test_a_stop_is_objected_to_when_git_could_tell_before_and_cannot_now(session, monkeypatch):
    """So many files in the way that git is not asked hide nothing."""
    session.run("true")
    monkeypatch.setattr(tree_diff, "MAX_DIRTY", 2)
    session.run("for one in 1 2 3; do echo $one > $one.txt; done; echo 3 > src/a.py")

    stopped = session.stop_here()

    assert stopped.exit_code == 2
    assert "more than 2 files differ from HEAD: cannot determine" in stopped.stderr
    for number in (1, 2, 3):
        (session.root / f"{number}.txt").unlink()
    assert session.new(session.stop_here) == ["modified src/a.py"]


class TestRepositoriesInside:
    """Git tells of a repository inside of another one as of one thing."""

    @pytest.fixture
    def session(self, session):
        session.law('"**/*.py"')
        session.run("true")
        return session

    def test_files_in_a_new_one(self, session):
        assert session.run("git init -q p && echo 1 > p/new.py && mv src/a.py p/") == [
            "renamed p/a.py < src/a.py",
            "created p/new.py",
        ]
        assert session.run("true") == []
        assert session.run("echo 2 > p/new.py; rm p/a.py") == [
            "deleted p/a.py",
            "modified p/new.py",
        ]
        assert session.run("git -C p add new.py; git -C p gc -q; touch p/new.py") == []
        assert session.run("rm -r p/.git") == []
        assert session.run("echo 3 > p/new.py") == ["modified p/new.py"]

    def test_a_work_tree_of_the_same_repository(self, session):
        found = session.run("git worktree add -q wt; echo 1 > wt/src/c.py")

        assert found == ["created wt/src/a.py", "created wt/src/b.py", "created wt/src/c.py"]
        assert session.run("echo 2 > wt/src/a.py") == ["modified wt/src/a.py"]
        assert session.run("git worktree remove --force wt") == [
            "deleted wt/src/a.py",
            "deleted wt/src/b.py",
            "deleted wt/src/c.py",
        ]

    def test_one_that_is_recorded_as_a_submodule(self, session):
        who = " ".join(WHO)
        session.run(f"git init -q p; git -C p {who} commit -q --allow-empty -m x; git add p")
        assert session.run(f"git {who} commit -qm p; echo 1 > p/x.py") == ["created p/x.py"]
        assert session.run("echo 2 > p/x.py") == ["modified p/x.py"]

    def test_one_that_was_recorded_before_the_session(self, session):
        who = " ".join(WHO)
        session.run(f"git init -q p; git -C p {who} commit -q --allow-empty -m x; git add p")
        session.run(f"git {who} commit -qm p; echo 1 > p/x.py")
        later = Session(session.root, session.home)
        later.payload = lambda event, **fields: Session.payload(later, event, session="t", **fields)

        assert later.run("true") == []
        assert later.run("echo 2 > p/x.py; echo 2 > p/y.py") == [
            "modified p/x.py",
            "created p/y.py",
        ]

    def test_a_folder_that_becomes_one(self, session):
        assert session.run("git init -q src; echo 1 > src/c.py") == ["created src/c.py"]
        assert session.run("mkdir new; echo 1 > new/d.py") == ["created new/d.py"]
        assert session.run("git init -q new") == []
        assert session.run("echo 2 > new/d.py") == ["modified new/d.py"]

    def test_links_are_not_followed(self, session, tmp_path):
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "elsewhere/x.py").write_text("1")

        found = session.run(f"git init -q p; ln -s {tmp_path}/elsewhere p/out; ln -s . p/l.py")

        assert found == ["created p/l.py", "created p/out"]
        assert [one.facts.outside for one in session.files()] == [(), ("p/out",)]

    def test_one_that_no_rule_is_about_is_not_walked(self, session, monkeypatch):
        session.law('"src/**"')
        monkeypatch.setattr(tree_diff, "MAX_HIDDEN", 0)

        assert session.run("git init -q p; echo 1 > p/x.py") == []
        assert session.stop_here().exit_code == 0

    def test_one_that_is_too_large_is_told_at_the_stop_until_a_person_speaks(
        self, session, monkeypatch
    ):
        monkeypatch.setattr(tree_diff, "MAX_HIDDEN", 3)
        session.run("git init -q p; for i in 1 2 3 4; do echo 1 > p/$i.py; done")

        stopped = session.stop_here()

        assert stopped.exit_code == 2
        assert "`p`: more than " in stopped.stderr
        assert "files that git does not report: check them yourself" in stopped.stderr
        session.hear("UserPromptSubmit", prompt="go on")
        assert session.stop_here().exit_code == 0

    def test_one_that_was_too_large_before_is_told_and_blocks_nobody(self, session, monkeypatch):
        monkeypatch.setattr(tree_diff, "MAX_HIDDEN", 3)
        session.git("init", "-q", "p")
        for number in range(5):
            session.write(f"p/{number}.py", "1")
        for notes in (session.root / ".bylaw/state").glob("hook-disk-*"):
            notes.unlink()

        said = session.before()

        assert "their changes are not checked" in said.stdout
        assert session.stop_here().exit_code == 0


class TestIgnoreFiles:
    """What an agent has git pass over is looked at all the same."""

    @pytest.fixture
    def session(self, session):
        session.law('"**/*.py"')
        session.write("build/old.py", "1")
        session.run("true")
        return session

    def test_new_files_that_a_changed_one_hides(self, session):
        session.run("echo '*.py' >> .gitignore")

        assert session.run("echo 1 > src/new.py; mkdir x; echo 1 > x/y.py") == [
            "created src/new.py",
            "created x/y.py",
        ]
        assert session.run("echo 2 > src/new.py") == ["modified src/new.py"]
        assert session.run("git checkout -q .gitignore") == []
        assert session.run("rm src/new.py") == ["deleted src/new.py"]

    def test_a_folder_that_is_hidden_with_what_hides_it(self, session):
        found = session.run("mkdir x; echo '*' > x/.gitignore; mv src/a.py x/; echo 1 > x/b.py")

        assert found == ["renamed x/a.py < src/a.py", "created x/b.py"]
        assert session.run("echo 2 > x/b.py") == ["modified x/b.py"]

    def test_one_that_hides_itself_and_is_changed(self, session):
        session.write("x/.gitignore", ".gitignore\n")
        session.hear("UserPromptSubmit", prompt="go on")
        assert session.run("echo '*.py' >> x/.gitignore; echo 1 > x/b.py") == ["created x/b.py"]

    def test_files_that_git_told_of_before(self, session):
        assert session.run("echo 1 > new.py") == ["created new.py"]
        assert session.run("echo '*.py' >> .gitignore") == []
        assert session.run("echo 2 > new.py") == ["modified new.py"]
        assert session.run("rm new.py") == ["deleted new.py"]

    def test_what_was_ignored_as_ever_is_passed_over(self, session):
        assert session.run("echo 2 > build/old.py; echo 1 > build/new.py") == []
        assert session.run("echo '*.log' >> .gitignore; echo 3 > build/new.py") == []
        assert session.new(session.stop_here) == []

    def test_what_is_hidden_and_too_much_is_told_at_the_stop(self, session, monkeypatch):
        monkeypatch.setattr(tree_diff, "MAX_HIDDEN", 3)
        session.run("echo '*.py' >> .gitignore; for i in 1 2 3 4; do echo 1 > src/$i.py; done")

        stopped = session.stop_here()

        assert stopped.exit_code == 2
        assert "`.gitignore`: more than " in stopped.stderr


def test_the_hooks_of_a_client_as_processes(session):
    """What the process of one hook noted, that of the next knows."""
    session.shell("sed -i s/1/2/ src/a.py")
    session.write("src/a.py", "a = 2\n")
    called = session.call("PostToolUse", **session.tool("Bash", command="x"), tool_response={})

    assert called.code == 0
    assert [(one.change, one.path, one.actor) for one in session.files()] == [
        ("modified", "src/a.py", "claude")
    ]
