"""`bylaw approve` and `bylaw reject` as processes, in the session of a real terminal."""

import json
import os
import pwd
import re
import stat
from contextlib import closing

import pytest
from on_terminal import BYLAW, QUESTION, call, on_terminal

from bylaw.hosts.bus.active_rules import ActiveRules
from bylaw.hosts.bus.approval_subject import ApprovalSubjects
from bylaw.hosts.bus.ledger import Ledger, MessageState
from bylaw.hosts.bus.message_file import digest_of
from bylaw.hosts.bus.statements import Approvals
from bylaw.hosts.clients.caller import AGENTS
from other_user import as_somebody_else
from own_session import SHELL, Terminal

ID = "20240116_120000_cursor_fix-lint"
REQUEST = "20240116_120500_bylaw_request-7-1"
MESSAGE = {
    "msg_id": ID,
    "msg_type": "command",
    "command_type": "exec",
    "phase": 2,
    "category": "B",
    "title": "Fix lint",
    "target_paths": ["src/a.ts", "src/b.ts"],
    "run": ["npm run lint", "npm test"],
    "origin_ref": "src/a.ts",
    "created_by": "cursor",
    "notes": "please",
}
ASKING = {
    **MESSAGE,
    "msg_id": REQUEST,
    "command_type": "approval_request",
    "origin_ref": ID,
    "created_by": "bylaw",
    "notes": "cursor wants to lint",
}
del ASKING["run"]
VARIABLES = [variable for agent in AGENTS for variable in agent.variables]
USER = pwd.getpwuid(os.getuid()).pw_name


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "root"
    (folder / "runtime" / "bus" / "input").mkdir(parents=True)
    (folder / "bylaw.toml").touch()
    put(folder, MESSAGE)
    return folder


@pytest.fixture
def claude(tmp_path):
    program = tmp_path / "claude"
    program.write_text('#!/bin/sh\n"$@"\nexit\n')
    program.chmod(0o755)
    return str(program)


def put(root, message, name=None, folder="input"):
    place = root / "runtime" / "bus" / folder
    place.mkdir(exist_ok=True)
    (place / (name or f"{message['msg_id']}.json")).write_text(json.dumps(message))


def token(root, authority="human", msg_id=ID):
    return root / "runtime" / "approvals" / f"{msg_id}.{authority}"


def ledger(root):
    return closing(Ledger(str(root)))


def stands(root, message=MESSAGE):
    """Whether a person's approval of this message counts."""
    with ledger(root) as known:
        facts = Approvals(str(root), "runtime/bus", known).facts(ID, digest_of(message))
    return [
        one.authority
        for one in facts
        if one.state == "granted" and one.digest == digest_of(message)
    ]


def contents(root):
    return {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}


class TestApproving:
    def test_a_person_says_yes(self, root):
        shown, code = on_terminal(root, ["approve", ID], b"y\n")

        assert code == 0
        assert shown.startswith(
            f"message       {ID}\n"
            f"file          runtime/bus/input/{ID}.json\n"
            'title         "Fix lint"\n'
            'category      "B"\n'
            'created_by    "cursor"\n'
            'target_paths  "src/a.ts"\n'
            '              "src/b.ts"\n'
            'run           "npm run lint"\n'
            '              "npm test"\n'
        )
        assert 'notes         "please"\n' in shown
        assert f"digest        {digest_of(MESSAGE)}\n" in shown
        assert f"\nApprove {ID} as human? [y/N] y\n" in shown
        assert shown.endswith(f"approved as human: runtime/approvals/{ID}.human\n")
        assert re.fullmatch(
            rf"Approved\ndigest: {digest_of(MESSAGE)}\n"
            rf"at: \d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{{3}}Z\nby: {USER}\n",
            token(root).read_text(),
        )
        assert stands(root) == ["human"]

    @pytest.mark.parametrize("answer", [b"n\n", b"\n", b"yep\n", b"\x04"])
    def test_anything_else_is_no(self, root, answer):
        shown, code = on_terminal(root, ["approve", ID], answer)

        assert code == 1
        assert shown.endswith("not approved\n")
        assert not token(root).parent.exists()

    def test_yes_is_not_asked(self, root):
        shown, code = on_terminal(root, ["approve", ID, "--yes"], b"")

        assert code == 0
        assert "[y/N]" not in shown
        assert '"npm run lint"' in shown
        assert stands(root) == ["human"]

    def test_another_authority_and_a_note(self, root):
        note = "until Friday\ndigest: 00\x1b[31m"
        on_terminal(root, ["approve", ID, "--by", "Antigravity", "--note", note], b"y\n")

        assert (
            token(root, "antigravity")
            .read_text()
            .endswith("\nnote: until Friday\\u{a}digest: 00\\u{1b}[31m\n")
        )
        assert stands(root) == ["antigravity"]

    def test_the_file_is_as_open_as_others(self, root):
        on_terminal(root, ["approve", ID, "--yes"], b"")
        mask = os.umask(0)
        os.umask(mask)

        assert stat.S_IMODE(token(root).stat().st_mode) == 0o666 & ~mask
        assert [one.name for one in token(root).parent.iterdir()] == [f"{ID}.human"]

    def test_json(self, root):
        looked = call(root, "approve", ID, "--format", "json", program=BYLAW)
        seen = json.loads(looked.stdout)

        assert looked.returncode == 1
        assert (seen["msg_id"], seen["message"], seen["token"]) == (ID, MESSAGE, None)
        assert not token(root).exists()
        shown, code = on_terminal(root, ["approve", ID, "--format", "json", "--yes"], b"")
        done = json.loads(shown)
        assert code == 0
        assert (done["decision"], done["authority"], done["digest"], done["token"]) == (
            "approved", "human", digest_of(MESSAGE), f"runtime/approvals/{ID}.human",
        )  # fmt: skip

    def test_why_it_is_held(self, root):
        with ledger(root) as known:
            known.begin(
                ID,
                digest=digest_of(MESSAGE),
                file=f"{ID}.json",
                claim="c",
                owner="o",
                after_seq=0,
                at=1,
            )
            known.end(ID, MessageState.HELD, why="R4: needs an approval by human \x1b[2K", at=2)
        shown, _ = on_terminal(root, ["approve", ID], b"n\n")

        assert "state         held: R4: needs an approval by human \\u{1b}[2K\n" in shown

    def test_what_others_said(self, root):
        token(root).parent.mkdir()
        token(root, "antigravity").write_text("Approved\n")
        shown, _ = on_terminal(root, ["approve", ID], b"n\n")

        assert (
            "\nstatement     antigravity granted \n"
            f"              (runtime/approvals/{ID}.antigravity)\n"
        ) in shown

    def test_what_others_said_of_another_text(self, root):
        token(root).parent.mkdir()
        token(root).write_text(f"Approved\ndigest: {'0' * 64}\n")
        token(root, "antigravity").write_text(f"Rejected\ndigest: {'0' * 64}\n")
        shown, _ = on_terminal(root, ["approve", ID], b"n\n")
        told = " ".join(shown.split())

        assert "statement human granted for another version of this message (" in told
        assert "statement antigravity revoked (runtime" in told  # which counts all the same
        looked = json.loads(call(root, "approve", ID, "--format", "json", program=BYLAW).stdout)
        assert {one["authority"]: one["other_text"] for one in looked["said"]} == {
            "human": True,
            "antigravity": False,
        }

    def test_no_word_is_broken(self, root):
        why = "`R4` needs approval by `human`, and nobody approved; so it waits, and waits, and on"
        put(root, {**MESSAGE, "title": "word " * 40, "notes": "x" * 200})
        with ledger(root) as known:
            digest = digest_of({**MESSAGE, "title": "word " * 40, "notes": "x" * 200})
            known.begin(
                ID, digest=digest, file=f"{ID}.json", claim="c", owner="o", after_seq=0, at=1
            )
            known.end(
                ID,
                MessageState.HELD,
                why=f"held: {why}; approve it with `bylaw approve {ID}`",
                at=2,
            )
        shown, _ = on_terminal(root, ["approve", ID], b"n\n")
        lines = [line[14:] for line in shown.split("\n\n")[0].splitlines()]

        assert all(len(line) <= 80 - 14 for line in lines)
        assert f"state held: {why} digest" in " ".join(shown.split())
        assert f'"{"word " * 40}"' in "".join(lines)
        assert f'"{"x" * 200}"' in "".join(lines)

    def test_another_root(self, root, tmp_path):
        _, code = on_terminal(tmp_path, ["approve", ID, "--yes", "--root", str(root)], b"")

        assert code == 0
        assert stands(root) == ["human"]


class TestRejecting:
    def test_it_beats_an_approval(self, root):
        (root / "SHARED_CONTEXT.md").write_text(f"DECISION: APPROVED {ID} BY human\n")
        assert stands(root) == ["human"]
        shown, code = on_terminal(root, ["reject", ID], b"y\n")

        assert code == 0
        assert f"Reject {ID} as human? [y/N] " in shown
        assert token(root).read_text().startswith("Rejected\n")
        assert stands(root) == []

    def test_a_person_may_think_again(self, root):
        on_terminal(root, ["reject", ID, "--yes"], b"")
        token(root).rename(token(root, "Human"))
        shown, code = on_terminal(root, ["approve", ID], b"y\n")

        assert code == 0
        assert f"replaces      runtime/approvals/{ID}.Human\n" in shown
        assert [one.name for one in token(root).parent.iterdir()] == [f"{ID}.human"]
        assert stands(root) == ["human"]

    @pytest.mark.parametrize("folder", ["input", "processing"])
    def test_what_runs_can_be_rejected(self, root, folder):
        name = f"{ID}.json"
        if folder == "processing":
            name += ".boot_space_1_2_0123456789abcdef"
            (root / "runtime" / "bus" / "input" / f"{ID}.json").unlink()
            put(root, MESSAGE, name, folder)
        _, code = on_terminal(root, ["reject", ID, "--yes"], b"")

        assert code == 0
        assert token(root).read_text().startswith("Rejected\n")

    @pytest.mark.parametrize(
        "line",
        [
            f"DECISION: REJECTED {ID} BY human",
            f"## Active Approvals\n- [~] {ID} | Human | Cat-B | 2024-01-16T12:05:00Z",
        ],
    )
    def test_an_approval_that_would_not_count(self, root, line):
        (root / "SHARED_CONTEXT.md").write_text(f"{line}\n")
        shown, code = on_terminal(root, ["approve", ID], b"y\n")

        assert code == 1
        assert (
            "has a rejection by human, which overrides an approval; change that line first" in shown
        )

    def test_a_shared_context_that_nobody_can_read(self, root):
        (root / "SHARED_CONTEXT.md").write_bytes(b"\xff")
        shown, code = on_terminal(root, ["approve", ID], b"y\n")

        assert code == 1
        assert "statement     human unclear (SHARED_CONTEXT.md)" in shown
        assert "`SHARED_CONTEXT.md` cannot be read and may have a rejection by human" in shown
        assert not token(root).exists()
        assert not token(root).exists()


class TestWhatIsMeant:
    def test_by_its_request(self, root):
        put(root, ASKING)
        shown, code = on_terminal(root, ["approve", REQUEST], b"y\n")

        assert code == 0
        assert '"npm run lint"' in shown
        assert 'request       "cursor wants to lint"\n' in shown
        assert f"Approve {ID} as human?" in shown
        assert stands(root) == ["human"]

    @pytest.mark.parametrize(
        "named", ["20240116_120000_cursor_fix", ID[:-1], f"{ID}2", "x\x1b[31m", "../x", ""]
    )
    def test_nothing_has_that_id(self, root, named):
        shown, code = on_terminal(root, ["approve", "--", named], b"y\n")

        assert code == 1
        assert f"waits for a decision; these wait: `{ID}`" in shown.replace("\n", " ")
        assert "\x1b[31mx" not in shown

    def test_nothing_waits(self, root):
        (root / "runtime" / "bus" / "input" / f"{ID}.json").unlink()
        shown, code = on_terminal(root, ["approve", ID], b"y\n")

        assert code == 1
        assert "no message waits" in shown

    def test_no_bus(self, tmp_path):
        (tmp_path / "bylaw.toml").touch()
        shown, code = on_terminal(tmp_path, ["approve", ID], b"y\n")

        assert code == 1
        assert "bus `runtime/bus` not found" in shown
        assert [one.name for one in tmp_path.iterdir()] == ["bylaw.toml"]

    def test_who_only_looks_makes_no_folder(self, root):
        before = sorted(root.rglob("*"))
        shown = call(root, "approve", ID, "--format", "json")

        assert json.loads(shown.stdout)["digest"] == digest_of(MESSAGE)
        assert sorted(root.rglob("*")) == before

    def test_who_only_looks_need_not_be_able_to_write(self, root, tmp_path):
        matters = ApprovalSubjects(str(root), ActiveRules(str(root), trusted_once=False))
        for folder in (root / "runtime/bus", root / "runtime/bus/input"):
            folder.chmod(0o555)
        with as_somebody_else(tmp_path):
            assert matters.find(ID).digest == digest_of(MESSAGE)

    def test_two_different_messages_with_one_id(self, root):
        put(root, {**MESSAGE, "run": ["npm run evil"]}, "b.json")
        shown, code = on_terminal(root, ["approve", ID], b"y\n")

        assert code == 1
        assert f"different messages have the id `{ID}`" in shown

    def test_a_request_for_what_nobody_knows(self, root):
        """Its token would be for whatever comes under that id."""
        put(root, {**ASKING, "origin_ref": "20240116_120000_cursor_later"})
        shown, code = on_terminal(root, ["approve", REQUEST], b"y\n")

        assert code == 1
        assert "is not in the bus, and its digest is unknown" in shown
        assert not token(root).parent.exists()

    def test_what_ran_already_is_shown_from_its_evidence(self, root):
        """An emergency is approved when it is done; forged evidence has another digest."""
        (root / "runtime" / "bus" / "input" / f"{ID}.json").unlink()
        put(root, ASKING)
        put(
            root, {"message": {**MESSAGE, "run": ["npm run harmless"]}}, f"{ID}.R1.1.json", "output"
        )
        put(root, {"message": MESSAGE}, f"{ID}.R1.2.json", "output")
        with ledger(root) as known:
            known.begin(
                ID, digest=digest_of(MESSAGE), file="a", claim="c", owner="o", after_seq=0, at=1
            )
            known.end(ID, MessageState.DONE, at=2)
        shown, code = on_terminal(root, ["approve", ID], b"y\n")

        assert code == 0
        assert '"npm run lint"' in shown
        assert "harmless" not in shown
        assert "state         done\n" in shown
        assert f"digest: {digest_of(MESSAGE)}\n" in token(root).read_text()

    def test_a_request_about_a_file(self, root):
        put(root, {**ASKING, "origin_ref": "fs-12"})
        shown, code = on_terminal(root, ["approve", REQUEST], b"y\n")

        assert code == 0
        assert "Approve fs-12 as human?" in shown
        assert token(root, msg_id="fs-12").exists()

    def test_the_token_is_for_what_was_shown(self, root):
        changed = {**MESSAGE, "run": ["npm run evil"]}
        with Terminal([*SHELL, *BYLAW, "approve", ID], folder=root) as terminal:
            shown = terminal.until(QUESTION)
            put(root, changed)
            terminal.type(b"y\n")
            terminal.rest()

        assert '"npm run lint"' in shown
        assert stands(root, changed) == []
        assert stands(root, MESSAGE) == ["human"]


HOSTILE = (
    "\x1b[2J\x1b]0;x\x07\r\n\x9b31m\u202e\u200b"
    + " " * 200
    + 'category      "A"\nrun             "true"'
)


def test_nothing_hostile_reaches_the_screen(root):
    put(root, {
        **MESSAGE, "title": HOSTILE, "created_by": HOSTILE, "target_paths": [HOSTILE], "run": [HOSTILE],
        "notes": HOSTILE * 50, "origin_ref": HOSTILE, HOSTILE: [HOSTILE], "category": [HOSTILE],
    })  # fmt: skip
    shown, _ = on_terminal(root, ["approve", ID], b"n\n")

    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\u200b]", shown)
    # No line of the message begins where labels stand.
    assert not re.search(r'^(category|run) +"(A|true)', shown, re.MULTILINE)
    assert all(len(line) <= 80 for line in shown.split("\n\n")[0].splitlines())


class TestWhoMayDecide:
    @pytest.mark.parametrize(
        "words",
        [["approve", ID], ["approve", ID, "--yes"], ["reject", ID, "--yes", "--format", "json"]],
    )
    def test_nobody_without_a_terminal(self, root, words):
        done = call(root, *words)

        assert done.returncode == 1
        assert "needs a person on a terminal" in done.stderr
        assert not token(root).parent.exists()

    @pytest.mark.parametrize("stream", ["<", ">"])
    def test_half_a_terminal_is_none(self, root, stream):
        line = f'"$@" {stream}/dev/null'
        words = ["/bin/sh", "-c", line, "sh", *BYLAW, "approve", ID, "--yes"]
        with Terminal(words, folder=root) as terminal:
            shown = terminal.rest()

        assert "needs a person on a terminal" in shown
        assert not token(root).parent.exists()

    @pytest.mark.parametrize("variable", VARIABLES)
    def test_no_agent_that_says_so(self, root, variable):
        environment = {**os.environ, variable: "1"}
        shown, code = on_terminal(root, ["approve", ID, "--yes"], b"", environment=environment)

        assert code == 1
        assert f"an agent is running here: `{variable}` is set" in shown
        assert not token(root).parent.exists()

    def test_no_agent_in_the_session(self, root, claude):
        words = [*SHELL, claude, *BYLAW, "reject", ID, "--yes"]
        with Terminal(words, folder=root) as terminal:
            shown = terminal.rest()

        assert "is Claude Code" in shown
        assert not token(root).parent.exists()

    def test_a_person_in_a_terminal_that_an_agent_opened(self, root, claude):
        _, code = on_terminal(root, ["approve", ID], b"y\n", opened_by=[claude])

        assert code == 0
        assert stands(root) == ["human"]

    def test_an_agent_may_look(self, root):
        environment = {**os.environ, "CLAUDECODE": "1"}
        shown, _ = on_terminal(
            root, ["approve", ID, "--format", "json"], b"", environment=environment
        )

        assert json.loads(shown)["token"] is None


class TestPlaces:
    def test_no_decision_is_written_to_the_bus_nor_for_anybody_else(self, root):
        """LD-005."""
        (root / "SHARED_CONTEXT.md").write_text("Active Phase: 2\n")
        before = contents(root)
        on_terminal(root, ["approve", ID, "--yes"], b"")
        on_terminal(root, ["reject", ID, "--yes", "--by", "antigravity"], b"")
        new = {path for path, text in contents(root).items() if before.get(path) != text}
        # Which tokens a person wrote is noted where agents cannot write.
        new -= {path for path in new if path.is_relative_to(root / ".bylaw/state")}

        assert new == {token(root), token(root, "antigravity")}

    def test_the_folder_of_tokens_leads_into_the_bus(self, root):
        token(root).parent.symlink_to("bus/output")
        (root / "runtime" / "bus" / "output").mkdir()
        shown, code = on_terminal(root, ["approve", ID, "--yes"], b"")

        assert code == 1
        assert "cannot use `runtime/approvals`: it is in the bus" in shown

    def test_the_folder_of_tokens_leads_out(self, root, tmp_path):
        token(root).parent.symlink_to(tmp_path)
        shown, code = on_terminal(root, ["approve", ID, "--yes"], b"")

        assert code == 1
        assert "leads outside the allowed folder" in shown
        assert not (tmp_path / f"{ID}.human").exists()

    def test_a_link_in_place_of_the_token_is_replaced(self, root, tmp_path):
        token(root).parent.mkdir()
        token(root).symlink_to(tmp_path / "elsewhere")
        _, code = on_terminal(root, ["approve", ID, "--yes"], b"")

        assert code == 0
        assert not (tmp_path / "elsewhere").exists()
        assert stands(root) == ["human"]
