"""`bylaw bus status` as a process: what lies in real folders and a real ledger, also as it moves."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import closing, contextmanager

import pytest
from on_terminal import BYLAW

from bylaw.hosts.bus.evidence import write_evidence
from bylaw.hosts.bus.folders import BusFolders
from bylaw.hosts.bus.ledger import Ledger, MessageState
from bylaw.hosts.bus.message_file import claim, digest_of, stamp_of
from bylaw.model.display import visible, width
from bylaw.store.system import own_process_name
from own_session import Terminal

ID = "20240116_120000_cursor_fix-lint"
OTHER = "20240116_120000_cursor_deploy"
REQUEST = "20240116_120500_bylaw_request-7-1"
MESSAGE = {
    "msg_id": ID,
    "msg_type": "command",
    "command_type": "exec",
    "phase": 2,
    "category": "B",
    "title": "Fix lint",
    "target_paths": ["src/a.ts"],
    "origin_ref": "src/a.ts",
    "created_by": "cursor",
    "notes": "please",
}
ASKING = MESSAGE | {
    "msg_id": REQUEST,
    "command_type": "approval_request",
    "approval_by": ["human"],
    "origin_ref": ID,
    "created_by": "bylaw",
    "notes": "cursor wants to lint",
}
LACKS = "`R-LINT` needs approval by `human` (not approved yet)"
WHY = f"held: {LACKS}; approve it with `bylaw approve {ID}`"
BUS = "runtime/bus"
AGO_S = 2.2  # what is older is not waited for any more
PATIENCE_S = 300
HOSTILE = "\x1b[2J\x1b]0;x\x07 {{msg_id}} $(id) `id` \u202e\u200b\r\n\x00\x9b31m"
REFUSED = {
    "a.yaml": ("a: [", "line 1: `[` is not closed"),
    "b.txt": ("msg_id: x", "unsupported format: a message is a `.yaml`, `.yml` or `.json` file"),
    "c.json": ('{"a": 1}', "`msg_id` is missing; `msg_type` is missing"),
    "d.json": (json.dumps(MESSAGE | {"category": "a"}), "`category` must be `A` or `B`"),
    "e.json": (json.dumps(MESSAGE | {"phase": 3}), "`phase` is 3, but the active phase is 2"),
    "f.json": (json.dumps(MESSAGE | {"msg_type": "Decision"}), "decisions are forbidden"),
    "g.json": (
        json.dumps(MESSAGE | {"target_paths": ["out/x"]}),
        "`target_paths`: `out/x` is outside",
    ),
    "h.json": (json.dumps(MESSAGE | {"\x1b[2J": 1}), "unknown key `\\u{1b}[2J`"),
}
ON_SCREEN = {**os.environ, "TERM": "xterm"}
ON_SCREEN.pop("NO_COLOR", None)


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "root"
    folder.mkdir()
    (folder / "bylaw.toml").touch()
    (folder / "SHARED_CONTEXT.md").write_text("**Active Phase**: `2`\n")
    with BusFolders(str(folder), BUS):
        return folder


@contextmanager
def ledger_of(root):
    with closing(Ledger(str(root))) as ledger:
        yield ledger


def put(root, message=MESSAGE, name="", **changes):
    message = message | changes
    path = root / BUS / "input" / (name or f"{message['msg_id']}.json")
    path.write_text(json.dumps(message))
    return path


def begin(root, msg_id=ID, *, message=MESSAGE, file="", owner="", at=1_700_000_000_000):
    with ledger_of(root) as ledger:
        assert not ledger.begin(
            msg_id,
            digest=digest_of(message),
            file=file or f"{msg_id}.json",
            claim="c",
            owner=owner or own_process_name(),
            after_seq=0,
            at=at,
        )


def end(root, state, msg_id=ID, why="", at=1_700_000_001_000):
    with ledger_of(root) as ledger:
        ledger.end(msg_id, state, why=why, at=at)


def hold(root, msg_id=ID, why=WHY, **more):
    begin(root, msg_id, **more)
    end(root, MessageState.HELD, msg_id, why)


def status(root, *words):
    return subprocess.run(
        [*BYLAW, "bus", "status", *words],
        cwd=root, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip


def table(root, *words):
    done = status(root, *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert all(width(line) <= 80 for line in done.stdout.split("\n")), done.stdout
    return done.stdout


def data(root, *words):
    done = status(root, "--format", "json", *words)
    assert (done.returncode, done.stderr) == (0, "")
    (line,) = done.stdout.splitlines()
    return json.loads(line)


def files_in(root):
    return {
        str(path.relative_to(root)): path.read_bytes() if path.is_file() else None
        for path in sorted(root.rglob("*"))
    }


class TestNothing:
    def test_no_bus(self, tmp_path):
        folder = tmp_path / "empty"
        folder.mkdir()
        done = status(folder, "--root", ".")
        assert done.returncode == 0
        assert done.stdout == (f"no bus `runtime/bus` in `{folder}`; `bylaw bus run` creates it\n")
        assert data(folder, "--root", ".")["exists"] is False
        assert files_in(folder) == {}

    def test_no_such_root(self, tmp_path):
        done = status(tmp_path, "--root", "nowhere")
        assert done.returncode == 1
        assert f"error: folder `{tmp_path}/nowhere` does not exist" in done.stderr

    def test_an_empty_bus(self, root):
        assert table(root) == (
            "runtime/bus  phase 2  0 done, 0 failed, 0 refused, 0 withdrawn\n\n"
            "no messages are waiting or running\n"
        )
        assert not (root / ".bylaw").exists()

    def test_a_bus_with_one_folder(self, tmp_path):
        (tmp_path / BUS / "input").mkdir(parents=True)
        put(tmp_path)
        time.sleep(0.2)
        assert ID in table(tmp_path, "--root", ".")
        assert [path.name for path in (tmp_path / BUS).iterdir()] == ["input"]

    def test_a_bus_that_is_a_file(self, tmp_path):
        (tmp_path / "runtime").mkdir()
        (tmp_path / BUS).touch()
        done = status(tmp_path, "--root", ".")
        assert done.returncode == 1
        assert "error: cannot use the bus `runtime/bus`" in done.stderr

    def test_a_bus_that_leads_out(self, root, tmp_path):
        (tmp_path / "outside").mkdir()
        (root / "runtime").rename(root / "old")
        (root / "runtime").symlink_to(tmp_path / "outside")
        assert status(root).returncode == 1

    def test_another_bus(self, root):
        (root / "bylaw.toml").write_text('[law]\nbus = "elsewhere"\n')
        assert data(root)["bus"] == BUS  # nobody trusts that setting

    def test_nothing_is_changed(self, root):
        put(root)
        hold(root)
        (root / BUS / "input" / "x.yaml").write_text("a: [")
        before = files_in(root)
        table(root)
        assert files_in(root) == before


class TestPhase:
    @pytest.mark.parametrize(
        ("text", "why"),
        [
            ("", "no line says `Active Phase: N`"),
            ("Active Phase: 1\nActive Phase: 2\n", "more than one line"),
            ("Active Phase: \x1b[2J9\n", "line 1 says `Active Phase: \\u{1b}[2J9`"),
        ],
    )
    def test_it_is_told_why_it_is_unknown(self, root, text, why):
        (root / "SHARED_CONTEXT.md").write_text(text)
        shown = table(root)
        assert "phase unknown" in shown
        assert "the phase is unknown, so no rule runs: " in shown
        assert why in " ".join(shown.split())
        assert why in data(root)["phase_problem"]


class TestWaiting:
    def test_new_ones(self, root):
        put(root)
        put(root, msg_id=OTHER, category="C", title="Deploy")
        time.sleep(0.2)
        assert table(root).endswith(
            "waiting in input\n"
            "  20240116_120000_cursor_deploy    C  Deploy (cursor)\n"
            "  20240116_120000_cursor_fix-lint  B  Fix lint (cursor)\n"
        )
        assert [one["state"] for one in data(root)["waiting"]] == ["new", "new"]

    def test_what_will_be_refused(self, root, tmp_path):
        """LD-022 to LD-038"""
        (root / "out").symlink_to(tmp_path)
        for name, (text, _) in REFUSED.items():
            (root / BUS / "input" / name).write_text(text)
        time.sleep(AGO_S)
        shown = " ".join(table(root).split())
        found = {one["file"]: one for one in data(root)["waiting"]}
        assert set(found) == set(REFUSED)
        for name, (_, why) in REFUSED.items():
            assert found[name]["state"] == "refused"
            assert found[name]["why"].startswith(why)
            assert f"will be refused: {why}" in shown

    def test_an_id_that_is_used_up(self, root):
        """LD-024"""
        put(root, name="again.json")
        begin(root)
        end(root, MessageState.DONE)
        time.sleep(0.2)
        assert "will be refused: duplicate msg_id: the first one is done" in table(root)

    def test_what_somebody_writes(self, root):
        with put(root).open("a") as file:
            file.write(" ")
            file.flush()
            time.sleep(0.3)
            assert "not finished: another process has it open for writing" in table(root)

    def test_what_may_be_half_of_one(self, root):
        (root / BUS / "input" / "a.yaml").write_text("msg_id: x\n")
        time.sleep(0.2)
        shown = table(root)
        assert "not finished: it may be incomplete" in shown or "refused" in shown

    def test_names_that_nobody_looks_at(self, root):
        for name in (".hidden.json", "a.json.tmp", "b.json~"):
            put(root, name=name)
        assert data(root)["waiting"] == []

    def test_a_limit(self, root):
        for n in range(5):
            put(root, msg_id=f"20240116_12000{n}_cursor_x")
        found = data(root, "--limit", "2")
        assert len(found["waiting"]) == 2
        assert found["left_out"]["waiting"] == 3
        assert "  and 3 more; see --limit\n" in table(root, "--limit", "2")
        assert "more" not in table(root)


class TestHeld:
    def test_which_rule_and_whose_approval(self, root):
        """LD-067"""
        put(root)
        hold(root)
        time.sleep(0.2)
        shown = table(root)
        assert f"held\n  {ID}  B  Fix lint (cursor)\n    since " in shown
        assert LACKS in " ".join(shown.split())
        assert f"\n    bylaw approve {ID}\n" in shown
        (one,) = data(root)["held"]
        assert (one["why"], one["approve"]) == (WHY, f"bylaw approve {ID}")
        assert (one["since"], one["note"], one["said"]) == ("2023-11-14T22:13:20.000Z", None, [])

    def test_what_people_said(self, root):
        put(root)
        hold(root)
        tokens = root / "runtime/approvals"
        tokens.mkdir()
        (tokens / f"{ID}.human").write_text("Approved\n")
        (tokens / f"{ID}.antigravity").write_text("Rejected\n")
        time.sleep(0.2)
        assert f"    human approved (runtime/approvals/{ID}.human)\n" in table(root)
        assert "antigravity rejected" in table(root)
        (one,) = data(root)["held"]
        assert {(said["authority"], said["state"]) for said in one["said"]} == {
            ("human", "granted"), ("antigravity", "revoked"),
        }  # fmt: skip

    def test_what_people_said_of_another_text(self, root):
        put(root)
        hold(root)
        put(root, ASKING)
        begin(root, REQUEST, message=ASKING)
        end(root, MessageState.WAITING, REQUEST)
        tokens = root / "runtime/approvals"
        tokens.mkdir()
        (tokens / f"{ID}.human").write_text(f"Approved\ndigest: {'0' * 64}\n")
        time.sleep(0.2)
        assert table(root).count("    human approved another version of this message") == 2
        for kind in ("held", "requests"):
            ((one,),) = (one["said"] for one in data(root)[kind])
            assert (one["authority"], one["state"], one["other_text"]) == ("human", "granted", True)

    def test_one_that_was_changed(self, root):
        put(root, title="Something else")
        hold(root)
        time.sleep(0.2)
        assert data(root)["held"][0]["note"] == (
            "the message has changed since and will be tried again"
        )

    def test_one_whose_file_is_gone(self, root):
        hold(root)
        assert "its file is gone, so the message is withdrawn" in table(root)

    def test_another_message_in_its_place(self, root):
        put(root, name=f"{ID}.json", msg_id=OTHER)
        hold(root)
        time.sleep(0.2)
        found = data(root)
        assert "gone" in found["held"][0]["note"]
        assert [one["msg_id"] for one in found["waiting"]] == [OTHER]

    def test_an_id_that_cannot_be_shown_on_one_line(self, root):
        long = f"20240116_120000_cursor_{'x' * 97}"
        put(root, msg_id=long)
        hold(root, long, why="held")
        time.sleep(0.2)
        done = status(root)
        assert f"\n    bylaw approve {long}\n" in done.stdout


class TestRequests:
    """LD-A39"""

    def test_for_whom_and_about_what(self, root):
        put(root, ASKING)
        begin(root, REQUEST, message=ASKING)
        end(root, MessageState.WAITING, REQUEST)
        time.sleep(0.2)
        shown = table(root)
        assert f"approval requests\n  {REQUEST}  for human  Fix lint (bylaw)\n" in shown
        assert ": cursor wants to lint\n" in shown
        assert f"    bylaw approve {REQUEST}\n" in shown
        (one,) = data(root)["requests"]
        assert (one["about"], one["for"]) == (ID, ["human"])

    def test_one_that_nobody_has_handled(self, root):
        put(root, {key: value for key, value in ASKING.items() if key != "approval_by"})
        time.sleep(0.2)
        found = data(root)
        assert found["waiting"] == []
        assert found["requests"][0]["for"] == ["human", "antigravity"]
        assert "    new: cursor wants to lint\n" in table(root)


class TestRunning:
    def claim(self, root):
        path = put(root)
        with BusFolders(str(root), BUS) as bus:
            return claim(bus, path.name, stamp_of(path.stat()))

    def test_by_which_process_and_since_when(self, root):
        self.claim(root)
        begin(root)
        (one,) = data(root)["running"]
        assert (one["msg_id"], one["pid"], one["dead"]) == (ID, os.getpid(), False)
        assert one["since"] == "2023-11-14T22:13:20.000Z"
        assert f"running\n  {ID}  process {os.getpid()}  since " in table(root)

    def test_one_that_is_just_claimed(self, root):
        self.claim(root)
        (one,) = data(root)["running"]
        assert (one["msg_id"], one["since"]) == (ID, None)
        assert "just now" in table(root)

    def test_a_dead_one(self, root):
        code = (
            "import sys; from pathlib import Path; from bylaw.hosts.bus.folders import owner_tag;"
            "p = Path(sys.argv[1]); p.rename(p.parents[1] / 'processing' / "
            "f'{p.name}.{owner_tag()}_0123456789abcdef')"
        )
        subprocess.run([sys.executable, "-c", code, put(root)], check=True, timeout=PATIENCE_S)
        (one,) = data(root)["running"]
        assert (one["msg_id"], one["dead"]) == (ID, True)
        assert "its process is dead; the next `bylaw bus run` recovers it" in table(root)

    def test_one_whose_file_is_gone(self, root):
        begin(root, owner="old-boot/1/12/34")
        (one,) = data(root)["running"]
        assert (one["pid"], one["dead"]) == (12, True)

    def test_one_in_another_space(self, root):
        boot = own_process_name().split("/")[0]
        begin(root, owner=f"{boot}/somewhere/12/34")
        assert data(root)["running"][0]["dead"] is None
        assert "on another system" in table(root)


class TestEnded:
    def test_how_it_ended(self, root):
        for n, state in enumerate(
            (MessageState.DONE, MessageState.FAILED, MessageState.REFUSED, MessageState.WITHDRAWN)
        ):
            begin(root, f"20240116_12000{n}_cursor_x")
            end(root, state, f"20240116_12000{n}_cursor_x", why="" if n == 0 else "no", at=n + 1)
        found = data(root)
        assert found["counts"] == {"done": 1, "failed": 1, "refused": 1, "withdrawn": 1}
        assert [one["state"] for one in found["ended"]] == [
            "withdrawn", "refused", "failed", "done",
        ]  # fmt: skip
        assert table(root).startswith(
            "runtime/bus  phase 2  1 done, 1 failed, 1 refused, 1 withdrawn\n"
        )
        assert len(data(root, "--limit", "2")["ended"]) == 2

    def test_where_it_is_told_what_failed(self, root):
        begin(root)
        end(root, MessageState.FAILED)
        with BusFolders(str(root), BUS) as bus:
            path = write_evidence(bus, "error", ID, "R-LINT", {"text": "failed"})
        assert f"    see `{path}`\n" in table(root)

    def test_where_it_is_told_of_a_long_id(self, root):
        """The name of an evidence has room for 100 characters of an id of up to 120."""
        msg_id = f"20240116_120000_cursor_{'x' * 97}"
        begin(root, msg_id)
        end(root, MessageState.FAILED, msg_id)
        with BusFolders(str(root), BUS) as bus:
            path = write_evidence(bus, "error", msg_id, "R-LINT", {"text": "failed"})
        assert data(root)["ended"][0]["why"] == f"see `{path}`"

    def test_what_was_told_last_is_where_it_is_told(self, root):
        begin(root)
        end(root, MessageState.FAILED)
        with BusFolders(str(root), BUS) as bus:
            for _ in range(11):
                write_evidence(bus, "error", ID, "held", {"text": "held"})
                time.sleep(0.01)
            assert data(root)["ended"][0]["why"].endswith(".held.11.json`")
            path = write_evidence(bus, "error", ID, "R-LINT", {"text": "failed"})
        (root / BUS / "error" / f"{ID}.json.boot_space_1_2_0123456789abcdef").touch()
        assert data(root)["ended"][0]["why"] == f"see `{path}`"

    def test_what_no_rule_ever_saw(self, root):
        body = {"uid": "law:builtin#message", "file": "a.yaml", "text": f"no {HOSTILE}"}
        with BusFolders(str(root), BUS) as bus:
            write_evidence(bus, "error", "a-yaml", "message", body)
            write_evidence(bus, "error", "b-yaml", "message", body | {"uid": "law:x#message"})
            write_evidence(bus, "error", ID, "R-LINT", body)
        (root / BUS / "error" / "c.message.1.json").write_text("{")
        (one,) = data(root)["ended"]
        assert (one["name"], one["state"]) == ("a.yaml", "refused")
        assert "\x1b" not in table(root)


@pytest.mark.parametrize("columns", [40, 50, 59, 60, 80])
def test_it_is_as_wide_as_the_screen(root, columns):
    put(root)
    hold(root)
    put(root, msg_id=OTHER, title="word " * 30)
    put(root, name="a.json", msg_id="no id")
    begin(root, "20240116_120000_cursor_through")
    end(root, MessageState.FAILED, "20240116_120000_cursor_through", why="because " * 20)
    time.sleep(AGO_S)
    environment = {**os.environ, "COLUMNS": str(columns), "NO_COLOR": "1"}
    with Terminal(
        [*BYLAW, "bus", "status", "--no-follow"], folder=root, environment=environment
    ) as terminal:
        lines = terminal.rest().splitlines()
    # What a person copies is never cut.
    wide = [line.strip() for line in lines if width(line) > columns]
    assert set(wide) <= {f"bylaw approve {ID}"}
    assert "0 done, 1 failed, 0 refused, 0 withdrawn" in " ".join(" ".join(lines).split())


class TestHostile:
    def test_nothing_reaches_the_terminal_raw(self, root):
        """every text of a message, and the names of files"""
        put(root, title=HOSTILE, created_by=HOSTILE, notes=HOSTILE, origin_ref=HOSTILE)
        hold(root, why=HOSTILE)
        put(root, ASKING, title=HOSTILE, notes=HOSTILE * 100, created_by=HOSTILE)
        for name in ("\x1b[2J\n.json", "\u202e.yaml", "x" * 200 + ".json", "漢字" * 30 + ".json"):
            (root / BUS / "input" / name).write_text("{")
        (root / BUS / "input").joinpath(os.fsdecode(b"\xff.json")).write_text("{")
        time.sleep(AGO_S)
        for words in ((), ("--format", "json")):
            text = status(root, *words).stdout
            assert text
            assert all(visible(line) == line for line in text.replace("\\", "").split("\n"))
        assert len(table(root).split("\n")) < 60

    def test_a_ledger_that_is_none(self, root):
        (root / ".bylaw/state").mkdir(parents=True)
        (root / ".bylaw/state/bus.db").write_text("x" * 5000)
        done = status(root)
        assert done.returncode == 1
        assert "is damaged" in done.stderr

    def test_a_ledger_that_is_just_being_made(self, root):
        (root / ".bylaw/state").mkdir(parents=True)
        (root / ".bylaw/state/bus.db").touch()
        assert "no messages are waiting" in table(root)

    def test_while_somebody_writes_to_the_ledger(self, root):
        put(root)
        hold(root)
        with ledger_of(root) as ledger, ledger._change():
            assert data(root)["held"]


class TestUsage:
    @pytest.mark.parametrize("words", [["--limit", "-1"], ["--limit", "x"], ["x"], ["--once"]])
    def test_mistakes(self, root, words):
        assert status(root, *words).returncode == 2


def on_screen(root, *words, environment=ON_SCREEN):
    return Terminal([*BYLAW, "bus", "status", *words], folder=root, environment=environment)


class TestLive:
    def test_it_is_redrawn_until_it_is_interrupted(self, root):
        with on_screen(root) as terminal:
            at = terminal.wait_for("no messages are waiting")
            assert "\x1b[?1049h" in terminal.shown
            put(root)
            at = terminal.wait_for("Fix lint (cursor)", at)
            hold(root)
            at = terminal.wait_for("bylaw approve", at)
            (root / BUS / "input" / f"{ID}.json").unlink()
            end(root, MessageState.DONE)
            at = terminal.wait_for("1 done", at)
            terminal.type(b"\x03")
            shown = terminal.rest()
        assert terminal.process.returncode == 130
        last = shown.rpartition("\x1b[?1049l")[2]
        assert "1 done" in last
        assert "no messages are waiting" in last

    def test_nothing_is_written_while_nothing_changes(self, root):
        with on_screen(root) as terminal:
            terminal.wait_for("no messages are waiting")
            time.sleep(1.5)
            terminal.type(b"\x03")
            assert terminal.rest().count("\x1b[H") == 1

    def test_a_signal_gives_the_screen_back(self, root):
        with on_screen(root) as terminal:
            terminal.wait_for("no messages are waiting")
            terminal.process.send_signal(signal.SIGTERM)
            shown = terminal.rest()
        assert terminal.process.returncode == 128 + signal.SIGTERM
        assert "\x1b[?25h\x1b[?1049l" in shown

    def test_more_than_the_screen_holds(self, root):
        for n in range(60):
            put(root, msg_id=f"20240116_1200{n:02}_cursor_x")
        with on_screen(root, "--limit", "100") as terminal:
            end_ = terminal.wait_for("more lines\x1b[K\n")
            assert terminal.shown[:end_].count("\n") <= 24
            terminal.type(b"\x03")
            assert "20240116_120059" in terminal.rest()

    def test_colour(self, root):
        put(root)
        hold(root)
        for environment, expected in ((ON_SCREEN, True), ({**ON_SCREEN, "NO_COLOR": "1"}, False)):
            with on_screen(root, "--no-follow", environment=environment) as terminal:
                shown = terminal.rest()
            assert terminal.process.returncode == 0
            assert ("\x1b[1mheld\x1b[0m" in shown) is expected
            assert bool(re.search("\x1b", shown)) is expected

    def test_a_bus_that_comes_later(self, tmp_path):
        (tmp_path / "bylaw.toml").touch()
        with on_screen(tmp_path) as terminal:
            at = terminal.wait_for("no bus `")
            with BusFolders(str(tmp_path), BUS):
                terminal.wait_for("no messages are waiting", at)
            terminal.type(b"\x03")
            terminal.rest()

    def test_in_a_pipe_only_if_it_is_wanted(self, root):
        put(root)
        time.sleep(0.2)
        with subprocess.Popen(
            [*BYLAW, "bus", "status", "--follow", "--format", "json"],
            cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as process:  # fmt: skip
            assert len(json.loads(process.stdout.readline())["waiting"]) == 1
            put(root, msg_id=OTHER)
            while len(json.loads(process.stdout.readline())["waiting"]) < 2:
                pass
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE_S) == 130
            assert process.stderr.read() == b""
