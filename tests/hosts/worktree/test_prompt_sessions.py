"""Baselines of prompts belong to sessions: which of them counts for whom, and how long."""

import os
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256

import pytest
from git_repository import PROMPT, Repository

from bylaw.hosts.worktree import prompt_files
from bylaw.hosts.worktree.baselines import MAX_REMOVED, prompts_of_others
from bylaw.hosts.worktree.prompt_files import owner_of

NOON = 1705406400
FOLDER = ".deepwork/tmp/policy/baselines"


@pytest.fixture
def repository(tmp_path):
    made = Repository(tmp_path / "r")
    made.commit(a="1", b="1", c="1")
    return made


def since(repository, session=""):
    return [*repository.changed(PROMPT, session)]


def names(repository):
    return {path.name for path in (repository.path / FOLDER).iterdir()}


def test_a_prompt_of_another_session_is_no_beginning_of_ours(repository):
    """Facts bug 21, DW-126."""
    repository.capture(NOON, "one")
    repository.write("a", "2")
    repository.capture(NOON + 5, "two")
    repository.write("b", "2")

    assert since(repository, "one") == ["a", "b"]
    assert since(repository, "two") == ["b"]

    repository.capture(NOON + 10, "one")
    repository.write("c", "2")

    assert since(repository, "one") == ["c"]
    assert since(repository, "two") == ["b", "c"]
    assert len(names(repository)) == 3


def test_prompts_of_two_sessions_in_one_second(repository):
    """Entries are told apart by it, so the second one gets the next."""
    first = repository.capture(NOON, "one")
    repository.write("a", "2")
    second = repository.capture(NOON, "two")

    assert (f"prompt_{NOON}." in first, f"prompt_{NOON + 1}." in second) == (True, True)
    assert since(repository, "one") == ["a"]
    assert since(repository, "two") == []


def test_sessions_that_capture_at_once_have_seconds_of_their_own(repository):
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda n: repository.capture(NOON, f"s{n}"), range(8)))

    seconds = [file.second for file in prompt_files.prompt_files(names(repository))]
    assert len({*found}) == len({*seconds}) == len(seconds) == 8


@pytest.mark.parametrize("session", ["s", "../../../escaped", "a/b", "é\n\0", "\udcff", "x" * 9999])
def test_a_name_of_a_session_may_hold_anything(repository, session):
    path = repository.capture(NOON, session)

    digest = sha256(session.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    assert path == f"{FOLDER}/prompt_{NOON}.{digest}.json"
    assert (repository.path / path).is_file()
    assert since(repository, session) == []


@pytest.mark.parametrize("session", ["", "default", "worktree"])
def test_what_belongs_to_no_session_is_shared(repository, session):
    """DW-123: the name that the document gives it."""
    assert repository.capture(NOON, session) == f"{FOLDER}/prompt_{NOON}.json"


def test_a_session_without_a_prompt_of_its_own_falls_back_to_the_shared_one(repository):
    repository.capture(NOON)
    repository.write("a", "2")
    repository.capture(NOON + 5, "other")
    repository.write("b", "2")

    assert since(repository, "new") == ["a", "b"]
    assert repository.seen.notes == ()


def test_a_later_shared_one_is_no_beginning_for_a_session_with_its_own(repository):
    """Else an agent could forget its own work by `bylaw policies baseline`."""
    repository.capture(NOON, "one")
    repository.write("a", "2")
    repository.capture(NOON + 5)

    assert since(repository, "one") == ["a"]
    assert since(repository) == []


def test_a_session_never_falls_back_to_another_one(repository):
    """DW-A39."""
    repository.write("a", "2")
    repository.capture(NOON, "other")

    assert since(repository, "new") == ["a"]
    assert repository.seen.notes == ("no prompt was captured: `prompt` is compared with HEAD",)


def test_who_looks_by_hand_sees_the_session_that_was_prompted_last(repository):
    repository.capture(NOON, "one")
    repository.write("a", "2")
    repository.capture(NOON + 5, "two")
    repository.write("b", "2")

    assert since(repository) == ["b"]


def test_of_its_own_that_cannot_be_read_the_older_one_takes_the_place(repository):
    repository.capture(NOON, "one")
    repository.write("a", "2")
    repository.capture(NOON + 1, "two")
    (repository.path / repository.capture(NOON + 2, "one")).write_text("{")

    assert since(repository, "one") == ["a"]
    assert "cannot be read: an older one counts" in repository.seen.notes[0]


def test_a_clock_of_another_session_does_not_matter(repository):
    repository.capture(NOON + 3600, "fast")

    assert f"prompt_{NOON}." in repository.capture(NOON, "slow")


@pytest.mark.parametrize("second", [253402300800, 999999999999])
@pytest.mark.parametrize("owner", ["", f".{owner_of('two')}"])
def test_a_name_of_no_time_that_there_is_is_no_baseline(repository, second, owner):
    (repository.path / FOLDER).mkdir(parents=True)
    (repository.path / FOLDER / f"prompt_{second}{owner}.json").write_text("{}")
    path = repository.capture(NOON, "one")
    repository.write("a", "2")

    assert path.startswith(f"{FOLDER}/prompt_{NOON}.")
    assert since(repository, "one") == ["a"]
    assert prompts_of_others(str(repository.path), owner_of("one")) == frozenset()
    assert repository.capture(NOON, "two").startswith(f"{FOLDER}/prompt_{NOON + 1}.")


def test_sessions_that_are_long_gone_are_cleaned_up(repository):
    old = NOON - prompt_files.KEPT_SECONDS - 1
    repository.capture(old)
    repository.capture(old - 9, "gone")
    kept = repository.capture(old + 2, "here")

    new = repository.capture(NOON, "new")

    shared = f"prompt_{old}.json"
    assert names(repository) == {shared, *(path.rpartition("/")[2] for path in (kept, new))}


def test_of_a_long_session_the_latest_are_kept(repository):
    """DW-126: several, but not all."""
    repository.capture(NOON, "quiet")
    for number in range(prompt_files.KEPT_EACH + 3):
        repository.capture(NOON + number, "busy")

    owners = [file.owner for file in prompt_files.prompt_files(names(repository))]
    assert owners.count(owner_of("busy")) == prompt_files.KEPT_EACH
    assert owners.count(owner_of("quiet")) == 1


def test_there_are_never_too_many_sessions_and_little_is_done_at_once(repository, monkeypatch):
    folder = repository.path / FOLDER
    folder.mkdir(parents=True)
    for number in range(MAX_REMOVED + 20):
        (folder / f"prompt_{NOON + number}.{number:016x}.json").touch()
    os.mkfifo(folder / "prompt_1.json")  # whoever would read or remove anything else
    (folder / "notes.txt").touch()
    monkeypatch.setattr(prompt_files, "KEPT_SESSIONS", 10)

    repository.capture(NOON + 1000, "new")
    assert len(names(repository)) == 20 + 1 + 2

    repository.capture(NOON + 1000, "new")
    left = prompt_files.prompt_files(names(repository))
    assert {file.owner for file in left} == {
        "",
        owner_of("new"),
        *(f"{number:016x}" for number in range(MAX_REMOVED + 11, MAX_REMOVED + 20)),
    }
    assert "notes.txt" in names(repository)
