"""`bylaw bus new` as a process: every message that it writes is one that the bus takes."""

import json
import os
import pwd
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Barrier

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from on_terminal import BYLAW

from bylaw.hosts.bus.folders import BusFolders
from bylaw.hosts.bus.ledger import Ledger
from bylaw.hosts.bus.message_file import ReadyFile, read_message_file
from bylaw.hosts.bus.new_message import MessageOptions, NewMessages, id_word
from bylaw.languages.law.messages import check_message, is_message_id
from bylaw.model.errors import BylawError
from bylaw.model.facts import LawFacts
from bylaw.store import system

BUS = "runtime/bus"
HOSTILE = "\x1b[2J {{msg_id}} $(id) `id`; ../../x | \u202e\n'\" &&"
RULES = """\
dsl_version: "0.1"
rules:
  - rule_id: R-TOLD
    priority: 1
    trigger: {kind: bus_input}
    actions:
      - {type: write_bus, channel: output, template: "told {{title}}"}
"""


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "root"
    folder.mkdir()
    (folder / "bylaw.toml").touch()
    (folder / "SHARED_CONTEXT.md").write_text("**Active Phase**: `2`\n")
    return folder


def new(root, *words):
    return subprocess.run(
        [*BYLAW, "bus", "new", *words],
        cwd=root, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


def made(root, *words):
    """The message that was written."""
    done = new(root, *words)
    assert (done.returncode, done.stderr) == (0, "")
    path = root / done.stdout.rstrip("\n")
    message = json.loads(path.read_text())
    assert path == root / BUS / "input" / f"{message['msg_id']}.json"
    assert not check_message(message, LawFacts(phase=2)).refused
    return message


def wish(title="Hello", by="cursor", notes="", slug=""):
    return MessageOptions(
        title=title, category="A", command_type=None, paths=(), run=(), notes=notes, origin="",
        by=by, approval_by=(), requires_approval=False, slug=slug, phase=None,
    )  # fmt: skip


class TestMessage:
    def test_the_least(self, root):
        message = made(root, "--title", "Fix the lint errors", "--category", "A")
        user = pwd.getpwuid(os.getuid()).pw_name
        assert message.pop("msg_id").endswith(f"_{id_word(user)}_fix-the-lint-errors")
        assert message == {
            "msg_type": "command",
            "command_type": "task",
            "phase": 2,
            "category": "A",
            "title": "Fix the lint errors",
            "target_paths": [],
            "origin_ref": "bylaw bus new",
            "created_by": user,
            "notes": "",
        }

    def test_everything(self, root):
        words = ["--title", "T", "--category", "C", "--path", "src/a", "--path", "b"]
        words += ["--run", "a", "--run", "b", "--notes", "N", "--origin", "O", "--by", "cursor"]
        words += ["--approval-by", "human", "--approval-by", "antigravity"]
        words += ["--requires-approval", "--slug", "my_own-slug", "--phase", "2"]
        message = made(root, *words)
        assert message.pop("msg_id").endswith("_cursor_my_own-slug")
        assert message == {
            "msg_type": "command",
            "command_type": "exec",
            "phase": 2,
            "category": "C",
            "title": "T",
            "target_paths": ["src/a", "b"],
            "run": ["a", "b"],
            "requires_approval": True,
            "approval_by": ["human", "antigravity"],
            "origin_ref": "O",
            "created_by": "cursor",
            "notes": "N",
        }

    def test_paths_from_the_top_of_the_file_system(self, root, tmp_path):
        (tmp_path / "link").symlink_to(root)
        paths = [f"{root}/src/a", f"{root}/./b/../c", "d"]
        words = [word for path in paths for word in ("--path", path)]
        for folder in (str(root), str(tmp_path / "link")):
            wanted = ["--title", "T", "--category", "A", *words, "--root", folder]
            assert made(root, *wanted)["target_paths"] == ["src/a", "c", "d"]
        done = new(root, "--title", "T", "--category", "A", "--path", f"{root}/../x")
        assert done.returncode == 2
        assert "`--path` must be inside the root" in done.stderr

    def test_its_time_is_utc(self, root):
        before = time.strftime("%Y%m%d_%H%M%S", time.gmtime())
        message = made(root, "--title", "T", "--category", "A")
        after = time.strftime("%Y%m%d_%H%M%S", time.gmtime())
        assert before <= message["msg_id"][:15] <= after

    @pytest.mark.parametrize(
        ("title", "slug"),
        [
            ("Über den Wölken!", "uber-den-wolken"),
            ("漢字", "message"),
            ("../../etc", "etc"),
            ("x" * 300, "x" * 40),
            ("--a--", "a"),
        ],
    )
    def test_its_slug(self, root, title, slug):
        message = made(root, f"--title={title}", "--category", "A", "--by", "me")
        assert message["msg_id"][15:] == f"_me_{slug}"
        assert message["title"] == title

    def test_a_name_that_fits_no_id(self, root):
        message = made(root, "--title", "T", "--category", "A", "--by", "Dr. No_1")
        assert message["msg_id"].endswith("_Dr-No-1_t")
        assert message["created_by"] == "Dr. No_1"

    def test_as_json(self, root):
        done = new(root, "--title", "T", "--category", "A", "--format", "json")
        told = json.loads(done.stdout)
        assert told["written"] is True
        assert json.loads((root / told["path"]).read_text()) == told["message"]
        assert told["message"]["msg_id"] == told["msg_id"]

    def test_from_below_and_from_elsewhere(self, root, tmp_path):
        (root / "src").mkdir()
        assert new(root / "src", "--title", "T", "--category", "A").returncode == 0
        done = new(tmp_path, "--title", "U", "--category", "A", "--root", "root")
        assert done.returncode == 0
        assert len(list((root / BUS / "input").iterdir())) == 2

    def test_a_request(self, root):
        words = ["--title", "T", "--category", "B", "--command-type", "approval_request"]
        done = new(root, *words)
        assert done.returncode == 2
        assert "add `--origin ID`" in done.stderr
        assert made(root, *words, "--origin", "x")["command_type"] == "approval_request"

    def test_commands_of_category_a(self, root):
        """LD-A18"""
        done = new(root, "--title", "T", "--category", "A", "--run", "npm test")
        assert done.returncode == 0
        assert done.stderr == "note: rules never run the commands of a category A message\n"

    def test_the_orchestrator_takes_it(self, root):
        (root / "runtime/rules").mkdir(parents=True)
        (root / "runtime/rules/a.yaml").write_text(RULES)
        message = made(root, f"--title={HOSTILE}", "--category", "A", f"--notes={HOSTILE}")
        done = subprocess.run(
            [*BYLAW, "bus", "run", "--once"],
            cwd=root, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        (line,) = map(json.loads, done.stdout.splitlines())
        assert (line["msg_id"], line["status"]) == (message["msg_id"], "done")


class TestDryRun:
    def test_nothing_is_written(self, root):
        done = new(root, "--title", "T", "--category", "A", "--dry-run")
        assert done.returncode == 0
        assert is_message_id(json.loads(done.stdout)["msg_id"])
        told = json.loads(
            new(root, "--title", "T", "--category", "A", "--dry-run", "--format", "json").stdout
        )
        assert told["written"] is False
        assert told["path"] == f"{BUS}/input/{told['msg_id']}.json"
        assert not (root / "runtime").exists()
        assert not (root / ".bylaw").exists()

    def test_nothing_reaches_the_terminal_raw(self, root):
        done = new(root, f"--title={HOSTILE}", "--category", "A", "--dry-run")
        assert "\x1b" not in done.stdout
        assert "\u202e" not in done.stdout
        assert json.loads(done.stdout)["title"] == HOSTILE


class TestPhase:
    def test_unknown(self, root):
        (root / "SHARED_CONTEXT.md").unlink()
        done = new(root, "--title", "T", "--category", "A")
        assert done.returncode == 1
        assert "the phase is unknown" in done.stderr
        assert f"add one line `Active Phase: N`, with N from 0 to 4, to `{root}/SHARED" in (
            done.stderr
        )
        assert not (root / "runtime").exists()

    def test_given_where_it_is_unknown(self, root):
        (root / "SHARED_CONTEXT.md").unlink()
        assert new(root, "--title", "T", "--category", "A", "--phase", "4").returncode == 0

    def test_another_one(self, root):
        """LD-A03"""
        done = new(root, "--title", "T", "--category", "A", "--phase", "3")
        assert done.returncode == 2
        assert "`--phase` is 3, but the active phase is 2" in done.stderr


class TestMistakes:
    @pytest.mark.parametrize(
        ("words", "told"),
        [
            (["--category", "A"], "Missing option '--title'"),
            (["--title", "T"], "Missing option '--category'"),
            (["--title", "T", "--category", "a"], "'a' is not one of 'A', 'B', 'C', 'D'"),
            (["--title", " ", "--category", "A"], "'--title': must not be empty"),
            (["--title", "x" * 5000, "--category", "A"], "`--title` must be a text of"),
            (["--title", "T", "--category", "A", "--phase", "5"], "'--phase': 5 is not in"),
            (["--title", "T", "--category", "A", "--path", "../x"], "`--path` must be inside"),
            (["--title", "T", "--category", "A", "--path", "/x"], "`--path` must be inside"),
            (["--title", "T", "--category", "A", "--path", "out/x"], "`--path`: `out/x` is outside"),
            (["--title", "T", "--category", "B", "--run", " "], "`--run` contains a command that"),
            (["--title", "T", "--category", "A", "--notes", "x" * 100_001], "`--notes` must be"),
            (["--title", "T", "--category", "A", "--by", "漢"], "'--by': part of the id"),
            (["--title", "T", "--category", "A", "--slug", "-x"], "invalid slug `-x`"),
            (["--title", "T", "--category", "A", "--slug", "x" * 41], "invalid slug `xxx"),
            (["--title", "T", "--category", "A", "--slug", "a/b"], "invalid slug `a/b`"),
            (["--title", "T", "--category", "A", "--approval-by", "cursor"], "'cursor' is not"),
            (["--title", "T", "--category", "A", "--command-type", "run"], "'run' is not"),
            (["--title", b"\xff", "--category", "A"], "'--title': not UTF-8 text"),
            (["--title", "T", "--category", "B", "--run", b"a\xff"], "'--run': not UTF-8"),
        ],
    )  # fmt: skip
    def test_each_is_told(self, root, tmp_path, words, told):
        (root / "out").symlink_to(tmp_path)
        done = new(root, *words)
        assert done.returncode == 2
        assert told in done.stderr
        assert done.stdout == ""
        assert not (root / "runtime").exists()

    def test_too_large(self, root):
        words = [word for _ in range(40) for word in ("--run", "é" * 9_000)]
        done = new(root, "--title", "T", "--category", "B", *words)
        assert done.returncode == 2
        assert "a message may have at most 262,144 bytes" in done.stderr

    def test_no_such_root(self, root):
        done = new(root, "--title", "T", "--category", "A", "--root", "nowhere")
        assert done.returncode == 1
        assert "does not exist" in done.stderr

    def test_a_bus_that_cannot_be_used(self, root):
        (root / "runtime").mkdir()
        (root / BUS).touch()
        done = new(root, "--title", "T", "--category", "A")
        assert done.returncode == 1
        assert "cannot use the bus `runtime/bus`" in done.stderr


class TestIds:
    @pytest.fixture(autouse=True)
    def _one_moment(self, monkeypatch):
        monkeypatch.setattr(system, "time_ns", lambda: 1_705_406_400 * 10**9)

    def test_several_in_one_second(self, root):
        messages = NewMessages(str(root))
        paths = [messages.put(messages.draft(wish()))[1] for _ in range(3)]
        assert [path.rpartition("/")[2] for path in paths] == [
            "20240116_120000_cursor_hello.json",
            "20240116_120000_cursor_hello-2.json",
            "20240116_120000_cursor_hello-3.json",
        ]

    def test_one_that_is_through(self, root):
        """LD-024"""
        messages = NewMessages(str(root))
        used = messages.draft(wish()).msg_id
        with closing(Ledger(str(root))) as ledger:
            ledger.begin(used, digest="d", file="f", claim="c", owner="o", after_seq=0, at=1)
        assert messages.draft(wish()).msg_id == f"{used}-2"

    def test_somebody_is_quicker(self, root):
        messages = NewMessages(str(root))
        draft = messages.draft(wish())
        (first, _), (second, path) = messages.put(draft), messages.put(draft)
        assert first == draft
        assert second.msg_id == f"{draft.msg_id}-2"
        assert path == f"{BUS}/input/{second.msg_id}.json"
        assert json.loads((root / path).read_text()) == second.message

    def test_all_at_once(self, root):
        """Everybody has chosen the same id before anybody writes."""
        together = Barrier(12)

        def put(_):
            messages = NewMessages(str(root))
            draft = messages.draft(wish())
            together.wait(300)
            return messages.put(draft)

        with ThreadPoolExecutor(12) as everybody:
            done = list(everybody.map(put, range(12)))
        for draft, path in done:
            assert json.loads((root / path).read_text()) == draft.message
        assert len({draft.msg_id for draft, _ in done}) == 12
        assert len(list((root / BUS / "input").iterdir())) == 12

    def test_a_name_that_nobody_lists(self, root, monkeypatch):
        messages = NewMessages(str(root))
        draft, _ = messages.put(messages.draft(wish()))
        monkeypatch.setattr(messages, "_taken_ids", lambda _: set())
        with pytest.raises(BylawError, match="100 messages with ids like"):
            messages.put(draft)

    def test_too_many(self, root):
        messages = NewMessages(str(root))
        with BusFolders(str(root), BUS):
            stem = "20240116_120000_cursor_hello"
            for n in range(1, 101):
                name = f"{stem}.json" if n == 1 else f"{stem}-{n}.json"
                (root / BUS / "input" / name).touch()
        with pytest.raises(BylawError, match="100 messages with ids like"):
            messages.draft(wish())


@settings(max_examples=60, deadline=None)
@given(title=st.text(min_size=1), by=st.text(), notes=st.text())
def test_whatever_is_said_the_bus_reads_it_back(tmp_path_factory, title, by, notes):
    folder = tmp_path_factory.mktemp("root")
    (folder / "SHARED_CONTEXT.md").write_text("Active Phase: 2\n")
    messages = NewMessages(str(folder))
    draft = messages.draft(wish(title, by if id_word(by) else "me", notes))
    assert draft.problems == ()
    _, path = messages.put(draft)
    time.sleep(0.12)
    with BusFolders(str(folder), BUS) as bus:
        looked = read_message_file(bus, path.rpartition("/")[2], lambda _: True)
    assert isinstance(looked, ReadyFile)
    assert looked.file.message == draft.message


def test_arguments_in_another_locale(root):
    done = subprocess.run(
        [*BYLAW, "bus", "new", "--title", "Füße", "--category", "A", "--dry-run"],
        cwd=root, capture_output=True, timeout=300, check=False,
        env={**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    )  # fmt: skip
    assert json.loads(done.stdout.decode())["title"] == "Füße"
