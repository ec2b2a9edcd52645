"""`bylaw policies status`, `clear` and `baseline` as processes, on a real queue and repository."""

import json
import time

import pytest
from policy_repository import Repository

from bylaw.report.printers.policies import ago

QUEUE = ".deepwork/tmp/policy/queue"
SET = "set:\n  - src/{path}.py\n  - tests/{path}_test.py"


@pytest.fixture
def repository(tmp_path):
    found = Repository(tmp_path)
    found.policy("tests", f"name: Source/Test Pairing\n{SET}")
    found.policy("readme", "trigger: src/**/*.py\nsafety: README.md", "\n".join("abcdefg" * 5))
    found.commit("README.md")
    found.git("checkout", "-q", "-b", "work")
    return found


def told(repository, *words):
    done = repository.bylaw(*words, "--format", "json")
    assert done.returncode == 0
    return json.loads(done.stdout)


class TestStatus:
    def test_nothing_yet(self, repository):
        done = repository.bylaw("status")
        assert (done.returncode, done.stdout) == (0, "0 failed, 0 queued, 0 passed, 0 skipped\n")
        assert not (repository.root / ".deepwork/tmp").exists()

    def test_the_table(self, repository):
        now = time.time_ns() // 1_000_000
        waiting = repository.entry(
            "tests", ("src/a.py", "src/b.py"), "queued", expected=("tests/a_test.py", "docs/*.md"),
            matched=("docs/x.md",), now=now - 7_300_000, shown=2,
        )  # fmt: skip
        failed = repository.entry(
            "format", ("src/a.py",), "queued", "failed", now=now - 120_000, type="command",
            reason="exit 1: error: invalid syntax",
        )  # fmt: skip
        done = repository.entry("readme", ("a", "b", "c", "d", "e"), "queued", "passed", now=now)
        assert repository.bylaw("status").stdout == (
            "1 failed, 1 queued, 1 passed, 0 skipped\n"
            "\nfailed\n"
            f"  format  {failed}  2 minutes ago\n"
            "    src/a.py\n"
            "    exit 1: error: invalid syntax\n"
            "\nqueued\n"
            f"  tests  {waiting}  2 hours ago, shown 2 times\n"
            "    src/a.py\n    src/b.py\n"
            "    missing: tests/a_test.py\n"
            "\npassed\n"
            f"  readme  {done}  just now\n"
            "    a\n    b\n    c\n    and 2 more; name the policy to see all\n"
        )

    def test_json_is_as_in_the_files(self, repository):
        hash_ = repository.entry("tests", ("src/a.py",), "queued")
        [entry] = told(repository, "status")["entries"]
        assert entry == json.loads((repository.root / QUEUE / f"{hash_}.queued.json").read_text())
        assert told(repository, "status")["counts"] == {
            "queued": 1, "passed": 0, "failed": 0, "skipped": 0,
        }  # fmt: skip

    def test_a_name_lists_everything(self, repository):
        files = tuple(f"src/{n:02}.py" for n in range(30))
        repository.put(*files)
        repository.entry("tests", files, "queued")
        repository.entry("readme", files, "queued")
        shown = repository.bylaw("status", "tests").stdout
        assert shown.startswith("0 failed, 1 queued,")
        for number in range(30):
            assert f"    src/{number:02}.py\n" in shown
            assert f"  src/{number:02}.py → tests/{number:02}_test.py\n" in shown
        assert "\n  Look.\n" in shown
        assert "more" not in shown.partition("current message")[0]

    def test_files_in_instructions_are_all_named(self, repository):
        repository.policy("tests", SET, "{trigger_files} without {expected_files}; {trigger_file}")
        files = [f"src/{n:02}.py" for n in range(30)]
        repository.put(*files)
        wanted = [f"tests/{n:02}_test.py" for n in range(30)]
        said = f"{', '.join(files)} without {', '.join(wanted)}; src/00.py and 29 more"
        assert told(repository, "status", "tests")["lines"][-1] == said

    def test_long_instructions_are_whole(self, repository):
        repository.put("src/a.py")
        assert told(repository, "status", "readme")["lines"] == list("abcdefg" * 5)

    def test_what_is_satisfied_says_nothing(self, repository):
        repository.put("src/a.py", "tests/a_test.py")
        assert told(repository, "status", "tests")["lines"] == []

    def test_entries_of_a_policy_that_is_gone(self, repository):
        repository.entry("gone", ("a",), "queued")
        assert len(told(repository, "status", "gone")["entries"]) == 1

    def test_from_below_a_root_of_its_own(self, repository):
        """DW-A42: the repository counts, not the nearest settings."""
        repository.entry("tests", ("a",), "queued")
        repository.put("below/bylaw.toml", text="")
        assert repository.bylaw("status", folder="below").stdout.startswith("0 failed, 1 queued")

    def test_broken_settings(self, repository):
        repository.put("bylaw.toml", text="discovr = 1")
        done = repository.bylaw("status", "tests")
        assert done.returncode == 1
        assert "did you mean `discover`?" in done.stderr

    def test_no_such_policy(self, repository):
        done = repository.bylaw("status", "test")
        assert (done.returncode, done.stdout) == (1, "")
        assert "did you mean `tests`?" in done.stderr

    def test_a_policy_that_does_not_load_is_shown(self, repository):
        repository.policy("bad", "triger: a")
        done = repository.bylaw("status", "bad")
        assert done.returncode == 1
        assert "did you mean `trigger`?" in done.stderr

    def test_the_limit(self, repository):
        for number in range(4):
            repository.entry("tests", (f"src/{number}.py",), "queued")
        shown = repository.bylaw("status", "--limit", "2").stdout
        assert shown.count("src/") == 2
        assert "and 2 more; see --limit" in shown

    def test_a_corrupt_entry_is_told(self, repository):
        hash_ = repository.entry("tests", ("a",), "queued")
        (repository.root / QUEUE / f"{hash_}.queued.json").write_text("{")
        done = repository.bylaw("status")
        assert done.returncode == 0
        assert f"note: `{QUEUE}/{hash_}.queued.json` was corrupt" in done.stderr

    def test_two_states_of_one_entry_are_told_and_count_in_none(self, repository):
        """DW-060: as a run takes them."""
        hash_ = repository.entry("tests", ("a",), "queued")
        queued = repository.root / QUEUE / f"{hash_}.queued.json"
        left = queued.read_bytes()
        repository.entry("tests", ("a",), "passed")
        queued.write_bytes(left)
        done = repository.bylaw("status")
        assert (done.returncode, done.stdout) == (0, "0 failed, 0 queued, 0 passed, 0 skipped\n")
        assert done.stderr.count("the same entry has another state") == 2

    def test_it_fits_on_a_screen_and_moves_no_cursor(self, repository):
        evil = "src/\x1b[2J" + "x" * 200 + ".py"
        repository.entry("tests", (evil,), "queued", "skipped", output="y\x1b " * 100)
        shown = repository.bylaw("status").stdout
        assert "\x1b" not in shown
        assert max(map(len, shown.split("\n"))) <= 80

    def test_outside_of_git(self, tmp_path, repository):
        repository.entry("tests", ("a",), "queued")
        (tmp_path / "bylaw.toml").touch()
        (tmp_path / ".git").rename(tmp_path / "away")
        done = repository.bylaw("status", "tests")
        assert done.returncode == 0
        assert "1 queued" in done.stdout
        assert "is not in a git repository" in done.stderr


class TestClear:
    def test_all(self, repository):
        repository.entry("tests", ("a",), "queued")
        repository.entry("readme", ("a",), "queued", "passed")
        assert told(repository, "clear") == {"removed": 2}
        assert told(repository, "clear") == {"removed": 0}
        assert told(repository, "status")["entries"] == []

    def test_one_policy(self, repository):
        repository.entry("tests", ("a",), "queued")
        repository.entry("readme", ("a",), "queued", "passed")
        assert repository.bylaw("clear", "readme").stdout == "removed 1 entry\n"
        assert [one["policy_name"] for one in told(repository, "status")["entries"]] == ["tests"]

    def test_the_summary_tells_no_old_tales(self, repository):
        """DW-122"""
        repository.entry("tests", ("a",), "queued")
        repository.put(".deepwork/policy_state.json", text="{}")
        repository.bylaw("clear")
        state = json.loads((repository.root / ".deepwork/policy_state.json").read_text())
        assert (state["counts"]["queued"], state["policies"]) == (0, ["readme", "tests"])

    def test_settings_that_do_not_load_keep_only_the_summary_from_being_written(self, repository):
        repository.entry("tests", ("a",), "queued")
        repository.put(".deepwork/policy_state.json", text="{}")
        repository.put("bylaw.toml", text="[command\n")
        done = repository.bylaw("clear")

        assert (done.returncode, done.stdout) == (0, "removed 1 entry\n")
        assert "note: cannot write `.deepwork/policy_state.json`: " in done.stderr
        assert told(repository, "clear") == {"removed": 0}

    def test_no_such_policy(self, repository):
        repository.entry("tests", ("a",), "queued")
        assert repository.bylaw("clear", "tset").returncode == 1
        assert len(told(repository, "status")["entries"]) == 1


class TestBaseline:
    def test_it_is_kept_and_told(self, repository):
        """DW-123, DW-124"""
        repository.put("new.py")
        found = told(repository, "baseline")
        assert found["baseline"] == json.loads((repository.root / found["path"]).read_text())
        assert found["baseline"]["untracked_files"] == ["new.py"]
        assert found["path"].startswith(".deepwork/tmp/policy/baselines/prompt_")

    def test_text(self, repository):
        path, *facts = repository.bylaw("baseline").stdout.splitlines()
        assert (repository.root / path).is_file()
        assert [line.split()[0] for line in facts] == ["time", "commit", "staged", "untracked"]

    def test_a_name_of_no_time_that_there_is(self, repository):
        repository.put(".deepwork/tmp/policy/baselines/prompt_999999999999.json", text="{}")
        assert told(repository, "baseline")["path"] < ".deepwork/tmp/policy/baselines/prompt_9"

    def test_each_has_a_file_of_its_own(self, repository):
        """DW-126"""
        assert told(repository, "baseline")["path"] != told(repository, "baseline")["path"]

    def test_git_sees_nothing_of_it(self, repository):
        """DW-121"""
        repository.bylaw("baseline")
        assert repository.git("status", "--porcelain") == ""

    def test_outside_of_git(self, tmp_path, repository):
        (tmp_path / ".git").rename(tmp_path / "away")
        done = repository.bylaw("baseline")
        assert (done.returncode, done.stdout) == (1, "")
        assert "is not in a git repository" in done.stderr


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0, "just now"),
        (59, "just now"),
        (60, "1 minute ago"),
        (7199, "1 hour ago"),
        (86_400 * 3, "3 days ago"),
    ],
)
def test_ago(seconds, expected):
    assert ago(seconds) == expected
