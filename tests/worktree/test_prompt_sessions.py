"""Baselines of prompts belong to sessions: which of them counts for whom, and how long."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256

import pytest
from git_repository import PROMPT, Repository

from bylaw.worktree import baselines
from bylaw.worktree.baselines import MAX_REMOVED, owner_key, prompts_of_others

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


def sessions(repository):
    """Whose baselines there are, by name."""
    folder = repository.path / FOLDER
    found = {path.name: json.loads(path.read_text()) for path in folder.glob("prompt_*.json")}
    return {name: one.get("session", "") for name, one in found.items()}


def ref(repository, session=""):
    return repository.changes(PROMPT, session=session).prompt.ref


def write_as_before(repository, second, session, **more):
    """As earlier versions wrote it: the session stands in the name, by its digest."""
    digest = sha256(session.encode()).hexdigest()[:16]
    held = {"timestamp": "2024-01-16T12:00:00Z", "commit": repository.head, "staged_files": [],
            "untracked_files": [], "digests": {}, **more}  # fmt: skip
    return repository.write(f"{FOLDER}/prompt_{second}.{digest}.json", json.dumps(held))


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
    """DW-A40, DW-A41: numbered within the second, and entries of one are none of the other."""
    first = repository.capture(NOON, "one")
    repository.write("a", "2")
    second = repository.capture(NOON, "two")

    assert first == f"{FOLDER}/prompt_{NOON}.json"
    assert second == f"{FOLDER}/prompt_{NOON}-2.json"
    assert since(repository, "one") == ["a"]
    assert since(repository, "two") == []
    assert ref(repository, "one") == "2024-01-16T12:00:00Z"
    assert ref(repository, "two") == "2024-01-16T12:00:00Z-2"


def test_each_prompt_has_a_ref_of_its_own(repository):
    """DW-A41: also two of one session within one second."""
    refs = []
    for _ in range(3):
        repository.capture(NOON, "one")
        refs.append(ref(repository, "one"))

    assert refs == [f"2024-01-16T12:00:00Z{number}" for number in ("", "-2", "-3")]


def test_sessions_that_capture_at_once_share_a_second_and_no_file(repository):
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda n: repository.capture(NOON, f"s{n}"), range(8)))

    assert len({*found}) == 8
    numbers = [file.number for file in baselines.parse_names(names(repository))]
    assert sorted(numbers) == [*range(1, 9)]
    assert {*sessions(repository).values()} == {f"s{number}" for number in range(8)}
    assert len({ref(repository, f"s{number}") for number in range(8)}) == 8


CAPTURE = """import sys
from bylaw.worktree.changes import WorkTree
print("ready", flush=True)
sys.stdin.readline()
for number in range(5):
    print(WorkTree(sys.argv[1]).capture(int(sys.argv[2]), sys.argv[3] + str(number % 2)))
"""


def test_processes_that_capture_at_once_keep_all(repository):
    arguments = [sys.executable, "-c", CAPTURE, str(repository.path), str(NOON)]
    started = [
        subprocess.Popen(
            [*arguments, f"s{number}-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for number in range(6)
    ]
    assert [one.stdout.readline() for one in started] == ["ready\n"] * 6
    paths = [path for one in started for path in one.communicate("go\n", timeout=300)[0].split()]

    numbers = ("", *(f"-{number}" for number in range(2, 31)))
    assert {*paths} == {f"{FOLDER}/prompt_{NOON}{number}.json" for number in numbers}
    found = list(sessions(repository).values())
    assert {name: found.count(name) for name in found} == {
        f"s{number}-{which}": 3 - which for number in range(6) for which in (0, 1)
    }


@pytest.mark.parametrize(
    "session", ["s", "../../../escaped", "a/b", 'é\n\0"', "\udcff", "x" * 9999]
)
def test_a_name_of_a_session_may_hold_anything(repository, session):
    path = repository.capture(NOON, session)
    repository.write("a", "2")
    repository.capture(NOON, "another")

    assert path == f"{FOLDER}/prompt_{NOON}.json"
    named = sessions(repository)[f"prompt_{NOON}.json"]
    assert named == session.replace("\udcff", "\\udcff")
    assert since(repository, session) == ["a"]


def count_reads(monkeypatch):
    read, asked = baselines.read_regular_bytes, []

    def counted(name, at_most, **how):
        asked.append((name, at_most))
        return read(name, at_most, **how)

    monkeypatch.setattr(baselines, "read_regular_bytes", counted)
    return asked


def test_of_many_files_no_more_are_read_than_tell_the_latest_of_a_session(repository, monkeypatch):
    for number in range(200):
        repository.write(
            f"{FOLDER}/prompt_{NOON + number}.json",
            json.dumps(
                {"session": f"s{number}", "timestamp": "2024-01-16T12:00:00Z",
                 "commit": repository.head, "staged_files": [], "untracked_files": [],
                 "digests": {}}, separators=(",", ":"),
            ),
        )  # fmt: skip
    repository.capture(NOON + 300, "mine")
    repository.capture(NOON + 301, "other")
    asked = count_reads(monkeypatch)

    assert since(repository, "mine") == []
    # The beginning of two tells whose they are, then the one that counts is read.
    assert [name for name, _ in asked] == [
        f"prompt_{NOON + 301}.json", f"prompt_{NOON + 300}.json", f"prompt_{NOON + 300}.json"
    ]  # fmt: skip
    asked.clear()
    assert since(repository, "new") == []
    assert {size for _, size in asked} == {1024}, "of the others nothing but the beginning"
    asked.clear()
    refs = {ref(repository, "other"), repository.head}
    asked.clear()
    assert prompts_of_others(str(repository.path), "mine", refs) == refs - {repository.head}
    assert len(asked) == 1, "only of what entries refer to"


def test_files_that_earlier_versions_wrote_are_read(repository):
    write_as_before(repository, NOON, "one")
    repository.write("a", "2")
    repository.capture(NOON + 5, "two")
    repository.write("b", "2")

    assert since(repository, "one") == ["a", "b"]
    assert ref(repository, "one") == "2024-01-16T12:00:00Z"
    assert since(repository, "two") == ["b"]

    repository.capture(NOON + 10, "one")
    assert since(repository, "one") == []


def test_a_prompt_in_the_second_of_an_earlier_version_has_another_ref(repository):
    write_as_before(repository, NOON, "one")
    path = repository.capture(NOON, "two")

    assert path == f"{FOLDER}/prompt_{NOON}-2.json"
    assert ref(repository, "two") != ref(repository, "one")


def test_what_entries_of_others_refer_to(repository):
    """An entry is for the session to answer that was shown it."""
    for number, session in enumerate(["one", "two", ""]):
        repository.capture(NOON + number, session)
    write_as_before(repository, NOON + 3, "three")
    (repository.path / FOLDER / f"prompt_{NOON + 4}.json").write_text("{")
    refs = [f"2024-01-16T12:00:0{number}Z" for number in range(6)]

    def of_others(session):
        found = prompts_of_others(str(repository.path), session, refs)
        return [number for number, one in enumerate(refs) if one in found]

    assert of_others("one") == [1, 3]
    assert of_others("two") == [0, 3]
    assert of_others("three") == [0, 1]
    assert of_others("") == of_others("new") == [0, 1, 3]
    (repository.path / FOLDER / f"prompt_{NOON + 2}.json").unlink()
    assert of_others("") == [0, 1], "without a shared one, the last session counts"
    assert prompts_of_others(str(repository.path), "one", []) == frozenset()


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
    broken = repository.path / repository.capture(NOON + 2, "one")
    for text in (broken.read_text()[:-1], "{"):
        broken.write_text(text)

        assert since(repository, "one") == ["a"]
        note = f"the baseline `{broken.name}` cannot be read: an older one is used"
        assert repository.seen.notes == (note,)


def test_what_is_broken_of_another_session_is_not_told(repository):
    repository.capture(NOON, "one")
    broken = repository.path / repository.capture(NOON + 1, "two")
    broken.write_text(broken.read_text()[:-1])

    assert since(repository, "one") == []
    assert repository.seen.notes == ()


def test_of_many_that_are_broken_a_few_are_told(repository):
    repository.capture(NOON, "one")
    for number in range(50):
        repository.write(f"{FOLDER}/prompt_{NOON + 1 + number}.json", "")

    assert since(repository, "one") == []
    assert len(repository.seen.notes) == baselines.MAX_NOTED


def test_a_clock_of_another_session_does_not_matter(repository):
    repository.capture(NOON + 3600, "fast")

    assert f"prompt_{NOON}." in repository.capture(NOON, "slow")
    assert f"prompt_{NOON + 3600}-2." in repository.capture(NOON, "fast")


@pytest.mark.parametrize("second", [253402300800, 999999999999])
@pytest.mark.parametrize("owner", ["", f".{owner_key('two')}"])
def test_a_name_of_no_time_that_there_is_is_no_baseline(repository, second, owner):
    (repository.path / FOLDER).mkdir(parents=True)
    (repository.path / FOLDER / f"prompt_{second}{owner}.json").write_text("{}")
    path = repository.capture(NOON, "one")
    repository.write("a", "2")

    assert path.startswith(f"{FOLDER}/prompt_{NOON}.")
    assert since(repository, "one") == ["a"]
    assert prompts_of_others(str(repository.path), "one", [ref(repository, "one")]) == frozenset()
    assert repository.capture(NOON, "two") == f"{FOLDER}/prompt_{NOON}-2.json"


def test_sessions_that_are_long_gone_are_cleaned_up(repository):
    old = NOON - baselines.KEPT_SECONDS - 1
    repository.capture(old)
    repository.capture(old - 9, "gone")
    kept = repository.capture(old + 2, "here")

    new = repository.capture(NOON, "new")

    shared = f"prompt_{old}.json"
    assert names(repository) == {shared, *(path.rpartition("/")[2] for path in (kept, new))}


def test_of_a_long_session_the_latest_are_kept(repository):
    """DW-126: several, but not all."""
    repository.capture(NOON, "quiet")
    for number in range(baselines.KEPT_EACH + 3):
        repository.capture(NOON + number, "busy")

    found = list(sessions(repository).values())
    assert found.count("busy") == baselines.KEPT_EACH
    assert found.count("quiet") == 1


def test_those_of_earlier_versions_are_cleaned_up_with_the_others(repository):
    for number in range(baselines.KEPT_EACH):
        write_as_before(repository, NOON + number, "busy")
    repository.capture(NOON + 100, "busy")

    assert f"prompt_{NOON}.{owner_key('busy')}.json" not in names(repository)
    assert len(names(repository)) == baselines.KEPT_EACH


def test_few_that_are_young_are_not_read_to_clean_up(repository, monkeypatch):
    for number in range(baselines.KEPT_EACH - 1):
        repository.capture(NOON + number, f"s{number}")
    asked = count_reads(monkeypatch)
    repository.capture(NOON + 100, "new")

    assert asked == []


def test_there_are_never_too_many_sessions_and_little_is_done_at_once(repository, monkeypatch):
    folder = repository.path / FOLDER
    folder.mkdir(parents=True)
    for number in range(MAX_REMOVED + 20):
        (folder / f"prompt_{NOON + number}.{number:016x}.json").touch()
    os.mkfifo(folder / "prompt_1.json")  # whoever would read or remove anything else
    (folder / "notes.txt").touch()
    monkeypatch.setattr(baselines, "KEPT_SESSIONS", 10)

    repository.capture(NOON + 1000, "new")
    assert len(names(repository)) == 20 + 1 + 2

    repository.capture(NOON + 1000, "new")
    left = {file.owner for file in baselines.parse_names(names(repository))} - {""}
    assert left == {f"{number:016x}" for number in range(MAX_REMOVED + 11, MAX_REMOVED + 20)}
    assert {f"prompt_{NOON + 1000}.json", f"prompt_{NOON + 1000}-2.json"} < names(repository)
    assert {"notes.txt", "prompt_1.json"} < names(repository)
