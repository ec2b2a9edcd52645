"""What counts as an approval: three forms, outside of the bus, each for one digest (LD-A13)."""

import os
from contextlib import closing
from threading import Thread

import pytest

from bylaw.engine.gates import is_open
from bylaw.engine.view import View
from bylaw.hosts.bus.ledger import Ledger, MessageState
from bylaw.hosts.bus.statements import MAX_APPROVALS, Approvals
from bylaw.model.event import Bus
from bylaw.model.facts import LawFacts
from bylaw.model.rule import ApprovalGate, ApprovalMode
from bylaw.model.session import Session
from bylaw.model.vocabulary import Authority
from bylaw.runtime import shared_context

BUS = "runtime/bus"
ID = "20240116_120000_cursor_fix-lint"
LISTED = f"- [x] {ID} | Human | Cat-B | 2024-01-16T12:05:00Z"
FIRST, SECOND = "1" * 64, "2" * 64


@pytest.fixture
def root(tmp_path):
    (tmp_path / "runtime" / "approvals").mkdir(parents=True)
    (tmp_path / BUS / "input").mkdir(parents=True)
    return tmp_path


@pytest.fixture
def ledger(root):
    with closing(Ledger(str(root))) as opened:
        yield opened


@pytest.fixture
def approvals(root, ledger):
    return Approvals(str(root), BUS, ledger)


def write(root, text):
    (root / "SHARED_CONTEXT.md").write_text(f"Active Phase: 2\n\n## Active Approvals\n\n{text}\n")


def token(root, name, text="Approved\n"):
    path = root / "runtime" / "approvals" / name
    path.write_text(text)
    return path


def said(approvals, msg_id=ID):
    return [(one.authority, one.state.value) for one in approvals.found(msg_id)]


def granted(approvals, digest=FIRST):
    facts = approvals.facts(ID, digest)
    return sorted(
        one.authority for one in facts if one.state.value == "granted" and one.digest == digest
    )


def passes(approvals, *authorities, category="B", mode=ApprovalMode.SINGLE):
    """Whether the gate of a rule that lists these authorities opens for a message."""
    facts = LawFacts(approvals=approvals.facts(ID, FIRST))
    event = Bus(message={"msg_id": ID, "category": category}, digest=FIRST, facts=facts)
    gate = ApprovalGate(mode=mode, authorities=frozenset(map(Authority, authorities)))
    return is_open(gate, View.of(Session(id="bus"), event))


def hold(ledger, digest):
    """As the bus does with a message that it sees for the first time."""
    ledger.begin(ID, digest=digest, file="m.json", claim="c", owner="o", after_seq=0, at=1)
    ledger.end(ID, MessageState.HELD, at=2)


class TestLines:
    """LD-071."""

    def test_a_line_of_the_list(self, root, approvals):
        write(root, LISTED)
        (one,) = approvals.facts(ID, FIRST)

        assert (one.id, one.authority, one.category, one.state.value, one.digest) == (
            ID, "human", "B", "granted", FIRST
        )  # fmt: skip

    def test_a_marker(self, root, approvals):
        write(root, f"- DECISION: APPROVED {ID} BY human")

        assert said(approvals) == [("human", "granted")]

    @pytest.mark.parametrize(("mark", "state"), [("~", "revoked"), ("!", "expired")])
    def test_what_was_taken_back(self, root, approvals, mark, state):
        write(root, LISTED.replace("[x]", f"[{mark}]"))

        assert said(approvals) == [("human", state)]
        assert not passes(approvals, "human")

    @pytest.mark.parametrize("other", ["20240116_120000_cursor_other", f"{ID}2", ID[:-1]])
    def test_another_id(self, root, approvals, other):
        write(root, LISTED.replace(ID, other))
        token(root, f"{other}.human")

        assert said(approvals) == []

    def test_another_category(self, root, approvals):
        write(root, LISTED)

        assert passes(approvals, "human", category="B")
        assert not passes(approvals, "human", category="C")

    def test_a_line_below_another_heading(self, root, approvals):
        (root / "SHARED_CONTEXT.md").write_text(f"## Notes\n\n{LISTED}\n")

        assert said(approvals) == []


class TestTokens:
    """LD-072."""

    @pytest.mark.parametrize("name", [f"{ID}.human", f"{ID}.Human", f"{ID}.HUMAN"])
    def test_a_token(self, root, approvals, name):
        token(root, name)

        assert said(approvals) == [("human", "granted")]

    @pytest.mark.parametrize(
        "text", ["", "\n", "Denied\n", "approved?\n", "x\nApproved\n", "Approved by me"]
    )
    def test_what_is_not_exactly_one(self, root, approvals, text):
        token(root, f"{ID}.human", text)

        assert said(approvals) == [("human", "unclear")]
        assert not passes(approvals, "human")

    @pytest.mark.parametrize(
        "name",
        [ID, f"{ID}.", f"{ID}.cursor", f"{ID}.human.txt", f".{ID}.human", f"{ID}.human.0123"],
    )
    def test_other_names(self, root, approvals, name):
        token(root, name)

        assert said(approvals) == []

    def test_files_that_are_none(self, root, approvals):
        elsewhere = root / "elsewhere"
        elsewhere.write_text("Approved\n")
        folder = root / "runtime" / "approvals"
        (folder / f"{ID}.human").symlink_to(elsewhere)
        os.mkfifo(folder / f"{ID}.Human")
        (folder / f"{ID}.HUMAN").mkdir()
        token(root, f"{ID}.antigravity", "Approved\n" + "x" * 20_000)
        (folder / f"{ID}.Antigravity").write_bytes(b"Approved\n\xff\n")

        assert set(said(approvals)) == {("human", "unclear"), ("antigravity", "unclear")}
        assert granted(approvals) == []


class TestAuthorities:
    """LD-073."""

    def test_only_listed_ones_count(self, root, approvals):
        token(root, f"{ID}.antigravity")

        assert not passes(approvals, "human")
        assert passes(approvals, "antigravity")

    def test_two_approvals_of_one_are_one(self, root, approvals):
        write(root, f"{LISTED}\nDECISION: APPROVED {ID} BY Human")
        token(root, f"{ID}.human")

        assert len(approvals.found(ID)) == 3
        assert not passes(approvals, "human", "antigravity", mode=ApprovalMode.DUAL)
        token(root, f"{ID}.antigravity")
        assert passes(approvals, "human", "antigravity", mode=ApprovalMode.DUAL)


class TestTakingBack:
    def test_a_rejecting_token_beats_what_stands_in_the_list(self, root, approvals):
        write(root, LISTED)
        token(root, f"{ID}.human", "Rejected\n")

        assert said(approvals) == [("human", "revoked")]

    def test_two_tokens_of_one_authority(self, root, approvals):
        token(root, f"{ID}.human", "Approved\n")
        token(root, f"{ID}.HUMAN", "Rejected\n")

        assert said(approvals) == [("human", "revoked")]

    @pytest.mark.parametrize(
        "line",
        [
            f"DECISION: REJECTED {ID} BY human",
            LISTED.replace("[x]", "[~]"),
            LISTED.replace("[x]", "[!]"),
        ],
    )
    def test_a_line_beats_a_token(self, root, approvals, line):
        write(root, line)
        token(root, f"{ID}.human")

        assert not passes(approvals, "human")

    def test_it_is_the_word_of_one_authority(self, root, approvals):
        write(root, f"DECISION: REJECTED {ID} BY human")
        token(root, f"{ID}.antigravity")

        assert said(approvals) == [("human", "revoked"), ("antigravity", "granted")]

    def test_who_approves_again_below_has_approved(self, root, approvals):
        again = LISTED.replace("12:05", "13:00")
        write(root, f"{LISTED.replace('[x]', '[~]')}\n{again}")

        assert said(approvals) == [("human", "granted")]

    def test_it_is_never_one_too_many(self, root, approvals):
        lines = [f"DECISION: APPROVED {ID} BY antigravity" + " " * n for n in range(5)]
        times = [f"2024-01-16T12:{n // 60:02}:{n % 60:02}Z" for n in range(2 * MAX_APPROVALS)]
        many = [
            LISTED.replace("Human", "antigravity").replace("2024-01-16T12:05:00Z", time)
            for time in times
        ]
        write(root, "\n".join([*lines, *many, f"DECISION: REJECTED {ID} BY human"]))

        assert len(approvals.found(ID)) == MAX_APPROVALS
        assert said(approvals)[0] == ("human", "revoked")


def a_large_token(path):
    path.write_text("Rejected\n" + "x" * 20_000)


def other_bytes(path):
    path.write_bytes(b"Rejected\n\xff\n")


def a_malformed_digest(path):
    path.write_text("Rejected\ndigest: none\n")


def other_words(path):
    path.write_text("I reject this\n")


def a_small_letter(path):
    path.write_text("rejected\n")


def with_a_reason(path):
    path.write_text("Rejected: not now\n")


def a_link(path):
    path.symlink_to("../elsewhere")


def a_folder(path):
    path.mkdir()


def no_folder_but_a_link(path):
    path.parent.rmdir()
    path.parent.symlink_to("nowhere")


def a_way_that_leads_nowhere(path):
    path.parent.parent.rename(path.parent.parent.with_name("other"))
    path.parent.parent.symlink_to("nowhere")


def no_folder_but_a_file(path):
    path.parent.rmdir()
    path.parent.touch()


UNREADABLE = [
    a_large_token, other_bytes, a_malformed_digest, other_words, a_small_letter, with_a_reason,
    a_link, a_folder, no_folder_but_a_link, a_way_that_leads_nowhere, no_folder_but_a_file,
]  # fmt: skip


class TestWhatCannotBeRead:
    """It may take back, so whatever else its authority says does not count."""

    @pytest.mark.parametrize("make", UNREADABLE)
    def test_a_token_lets_no_line_stand(self, root, approvals, make):
        write(root, LISTED)
        assert passes(approvals, "human")
        make(root / "runtime" / "approvals" / f"{ID}.human")

        assert granted(approvals) == []
        assert not passes(approvals, "human")

    def test_it_is_the_word_of_one_authority(self, root, approvals):
        write(root, f"{LISTED}\nDECISION: APPROVED {ID} BY antigravity")
        a_large_token(root / "runtime" / "approvals" / f"{ID}.human")

        assert said(approvals) == [("human", "unclear"), ("antigravity", "granted")]

    def test_it_is_no_rejection(self, root, approvals):
        """A line that was taken back and given again is not taken back once more."""
        again = LISTED.replace("12:05", "13:00")
        write(root, f"{LISTED.replace('[x]', '[~]')}\n{again}")
        token(root, f"{ID}.human", "hm\n")

        assert said(approvals) == [("human", "unclear")]

    def test_too_many_tokens(self, root, approvals, monkeypatch):
        write(root, LISTED)
        assert passes(approvals, "human")
        monkeypatch.setattr(shared_context, "MAX_TOKENS", 3)
        token(root, f"{ID}.human", "Rejected\n")
        for n in range(3):
            token(root, str(n))

        assert granted(approvals) == []

    @pytest.mark.parametrize("text", [b"\xff", b"x" * (shared_context.MAX_CONTEXT_BYTES + 1)])
    def test_a_shared_context_lets_no_token_stand(self, root, approvals, text):
        token(root, f"{ID}.human")
        assert passes(approvals, "human")
        (root / "SHARED_CONTEXT.md").write_bytes(text)

        assert said(approvals) == [("human", "unclear"), ("antigravity", "unclear")]
        assert not passes(approvals, "human")

    def test_what_is_not_there_takes_nothing_back(self, root, approvals):
        (root / "runtime" / "approvals").rmdir()
        write(root, LISTED)
        assert passes(approvals, "human")
        (root / "SHARED_CONTEXT.md").unlink()
        (root / "runtime" / "approvals").mkdir()
        token(root, f"{ID}.human")
        assert passes(approvals, "human")


class TestPlaces:
    """LD-004, LD-070: nothing in the bus counts, and no link changes that."""

    def test_a_token_in_the_bus(self, root, approvals):
        for folder in (root / BUS, root / BUS / "input", root / BUS / "approvals"):
            folder.mkdir(exist_ok=True)
            (folder / f"{ID}.human").write_text("Approved\n")
            (folder / "SHARED_CONTEXT.md").write_text(f"DECISION: APPROVED {ID} BY human\n")

        assert said(approvals) == []

    def test_links_into_the_bus(self, root, approvals):
        (root / BUS / f"{ID}.human").write_text("Approved\n")
        (root / BUS / "context.md").write_text(f"DECISION: APPROVED {ID} BY human\n")
        (root / "runtime" / "approvals").rmdir()
        (root / "runtime" / "approvals").symlink_to("bus")
        (root / "SHARED_CONTEXT.md").symlink_to(root / BUS / "context.md")

        assert granted(approvals) == []
        assert approvals.files.context().phase.why == (
            "`SHARED_CONTEXT.md` cannot be read: it is in the bus"
        )

    def test_a_bus_that_is_a_link(self, root, approvals):
        elsewhere = root / "docs"
        (root / BUS).rename(elsewhere)
        (root / BUS).symlink_to("../docs")
        (elsewhere / "context.md").write_text(f"DECISION: APPROVED {ID} BY human\n")
        (root / "SHARED_CONTEXT.md").symlink_to("docs/context.md")

        assert granted(approvals) == []

    def test_a_bus_around_the_tokens(self, root):
        token(root, f"{ID}.human")
        with closing(Ledger(str(root))) as ledger:
            assert granted(Approvals(str(root), "runtime", ledger)) == []

    def test_links_out_of_the_root(self, root, approvals, tmp_path_factory):
        outside = tmp_path_factory.mktemp("outside")
        (outside / f"{ID}.human").write_text("Approved\n")
        (outside / "context.md").write_text(f"DECISION: APPROVED {ID} BY human\n")
        (root / "runtime" / "approvals").rmdir()
        (root / "runtime" / "approvals").symlink_to(outside)
        (root / "SHARED_CONTEXT.md").symlink_to(outside / "context.md")

        assert granted(approvals) == []

    def test_a_link_within_the_root(self, root, approvals):
        (root / "docs").mkdir()
        (root / "docs" / "context.md").write_text(f"DECISION: APPROVED {ID} BY human\n")
        (root / "SHARED_CONTEXT.md").symlink_to("docs/context.md")

        assert said(approvals) == [("human", "granted")]

    def test_a_root_without_any(self, tmp_path):
        with closing(Ledger(str(tmp_path))) as ledger:
            assert said(Approvals(str(tmp_path), BUS, ledger)) == []


class TestBinding:
    """A changed message needs a new approval."""

    @pytest.mark.parametrize("form", ["line", "token"])
    def test_an_approval_before_the_message_is_for_what_comes_first(self, root, approvals, form):
        self._approve(root, form)

        assert granted(approvals, FIRST) == ["human"]
        assert granted(approvals, SECOND) == []
        assert granted(approvals, FIRST) == ["human"]

    @pytest.mark.parametrize("form", ["line", "token"])
    def test_it_is_for_what_was_seen(self, root, approvals, ledger, form):
        assert granted(approvals, FIRST) == []
        hold(ledger, FIRST)
        self._approve(root, form)

        assert granted(approvals, SECOND) == []  # swapped while nobody looked
        assert granted(approvals, FIRST) == ["human"]

    def test_a_swap_while_the_engine_is_down(self, root):
        with closing(Ledger(str(root))) as ledger:
            assert granted(Approvals(str(root), BUS, ledger), FIRST) == []
            hold(ledger, FIRST)
        self._approve(root, "line")
        with closing(Ledger(str(root))) as ledger:
            after = Approvals(str(root), BUS, ledger)
            assert granted(after, SECOND) == []
            assert granted(after, SECOND) == []

    def test_a_new_approval_is_for_the_changed_message(self, root, approvals):
        self._approve(root, "line")
        assert granted(approvals, FIRST) == ["human"]
        assert granted(approvals, SECOND) == []
        write(root, LISTED.replace("12:05:00", "13:00:00"))

        assert granted(approvals, SECOND) == ["human"]

    def test_the_same_line_again_is_no_new_approval(self, root, approvals):
        self._approve(root, "line")
        assert granted(approvals, FIRST) == ["human"]
        write(root, "")
        assert granted(approvals, SECOND) == []
        self._approve(root, "line")

        assert granted(approvals, SECOND) == []

    def test_a_file_that_is_saved_in_place_approves_nothing_anew(self, root, approvals):
        self._approve(root, "line")
        assert granted(approvals, FIRST) == ["human"]
        assert granted(approvals, SECOND) == []
        write(root, "")  # an editor writes it anew, and is seen half-way
        assert granted(approvals, SECOND) == []
        write(root, f"{LISTED}\nsomething else")

        assert granted(approvals, SECOND) == []

    def test_what_was_taken_back_for_a_while_is_no_new_approval(self, root, approvals):
        self._approve(root, "line")
        assert granted(approvals, FIRST) == ["human"]
        write(root, f"{LISTED}\nDECISION: REJECTED {ID} BY human")
        assert granted(approvals, SECOND) == []
        self._approve(root, "line")

        assert granted(approvals, SECOND) == []
        assert granted(approvals, FIRST) == ["human"]

    def test_a_token_that_is_written_again_is_a_new_one(self, root, approvals):
        path = token(root, f"{ID}.human")
        assert granted(approvals, FIRST) == ["human"]
        assert granted(approvals, SECOND) == []
        path.unlink()
        token(root, f"{ID}.human")

        assert granted(approvals, SECOND) == ["human"]

    def test_a_token_that_names_what_it_is_for(self, root, approvals):
        token(root, f"{ID}.human", f"Approved\ndigest: {SECOND}\n")

        assert granted(approvals, FIRST) == []
        assert granted(approvals, SECOND) == ["human"]

    @pytest.mark.parametrize("digest", ["", "abc", "zz" * 32, f"{FIRST}\ndigest: {SECOND}"])
    def test_a_digest_that_is_none(self, root, approvals, digest):
        token(root, f"{ID}.human", f"Approved\ndigest: {digest}\n")

        assert granted(approvals, FIRST) == granted(approvals, SECOND) == []

    def _approve(self, root, form):
        if form == "line":
            write(root, LISTED)
        else:
            token(root, f"{ID}.human")


class TestFacts:
    def test_they_change_with_what_is_said(self, root, approvals):
        seen = [approvals.facts(ID, FIRST)]
        write(root, LISTED)
        seen.append(approvals.facts(ID, FIRST))
        token(root, f"{ID}.antigravity")
        seen.append(approvals.facts(ID, FIRST))
        token(root, f"{ID}.antigravity", "Rejected\n")
        seen.append(approvals.facts(ID, FIRST))
        write(root, LISTED.replace("[x]", "[~]"))
        seen.append(approvals.facts(ID, FIRST))

        assert len(set(seen)) == len(seen)

    def test_what_is_said_of_others_does_not_matter(self, root, approvals):
        write(root, LISTED)
        before = approvals.facts(ID, FIRST)
        write(root, f"some words\n{LISTED}\n{LISTED.replace('fix-lint', 'other')}")
        token(root, "20240116_120000_cursor_other.human")

        assert approvals.facts(ID, FIRST) == before

    def test_who_only_looks_binds_nothing(self, root, approvals):
        write(root, LISTED)
        approvals.found(ID)

        assert granted(approvals, SECOND) == ["human"]


def test_many_changes_in_no_time_are_all_seen(root, approvals):
    """The clock of files stands still between two ticks; a stamp alone would miss changes."""
    for _ in range(200):
        write(root, LISTED)
        assert said(approvals) == [("human", "granted")]
        write(root, LISTED.replace("[x]", "[~]"))
        assert said(approvals) == [("human", "revoked")]


def test_threads_share_it(root, approvals):
    write(root, LISTED)
    found = []
    threads = [
        Thread(target=lambda: found.extend(granted(approvals) for _ in range(20))) for _ in range(4)
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()

    assert found == [["human"]] * 80
