"""`bylaw policies explain` as a process: which policies look at a file, and why not."""

import json

import pytest
from policy_repository import Repository

from bylaw.languages.file_policies.evaluation import content_digest, trigger_hash
from bylaw.languages.file_policies.syntax import Mode, PolicySyntax
from bylaw.languages.file_policies.triggers import find_match
from bylaw.model.facts import ChangedFile, Changes, ChangeSet, Entry
from bylaw.model.vocabulary import EntryStatus, FileStatus
from bylaw.report.policies import PolicyExplainer, PolicyStatus
from bylaw.worktree.run import PolicyEntry

POLICIES = {
    "docs": "pair:\n  trigger: api/{path}.py\n  expects: [docs/api/*.md]",
    "fresh": "created: src/**\ncompare_to: default_tip",
    "format": "trigger: '**/*.c'\naction: {command: 'indent {file}'}",
    "readme": "trigger: src/**/*.py\nsafety: README.md",
    "tests": "name: Source/Test Pairing\nset:\n  - src/{path}.py\n  - tests/{path}_test.py",
}


@pytest.fixture
def repository(tmp_path):
    found = Repository(tmp_path)
    for name, text in POLICIES.items():
        found.policy(name, text)
    found.commit("src/auth/login.py", "api/users.py", "README.md", "a.c")
    found.git("checkout", "-q", "-b", "work")
    return found


def says(repository, path, **more):
    """What each policy that looks at a file says about it."""
    done = repository.bylaw("explain", path, "--format", "json", **more)
    assert done.returncode == 0
    [file] = json.loads(done.stdout)["files"]
    assert len(file["policies"]) == len(POLICIES)
    return {one["policy"]: one["says"] for one in file["policies"] if one["hits"]}


class TestSays:
    def test_what_did_not_change(self, repository):
        expected = {"fresh": "unchanged", "readme": "unchanged", "tests": "unchanged"}
        assert says(repository, "src/auth/login.py") == expected

    def test_what_changed(self, repository):
        repository.put("src/auth/login.py", "a.c", text="y")
        expected = {"fresh": "not new", "readme": "fires", "tests": "fires"}
        assert says(repository, "src/auth/login.py") == expected
        assert says(repository, "a.c") == {"format": "fires"}

    def test_what_is_new(self, repository):
        repository.put("src/n.py", "tests/n_test.py", "README.md", text="y")
        expected = {"fresh": "fires", "readme": "satisfied", "tests": "satisfied"}
        assert says(repository, "src/n.py") == expected

    def test_a_file_that_is_not_there(self, repository):
        assert says(repository, "src/none.py")["tests"] == "unchanged"

    def test_the_other_side(self, repository):
        """DW-015"""
        assert says(repository, "docs/api/x.md") == {"docs": "expected"}
        assert says(repository, "README.md") == {"readme": "safety"}
        assert says(repository, "tests/a_test.py") == {"tests": "unchanged"}

    def test_the_pattern_that_fits_most_closely_counts(self, repository):
        for name, text in {
            "readme": "set: ['go/{path}.go', 'go/{path}_test.go']",
            "format": "pair: {trigger: 'go/{path}.go', expects: 'go/{path}_test.go'}",
        }.items():
            repository.policy(name, text)
        repository.put("go/a_test.go")
        assert says(repository, "go/a_test.go") == {"format": "expected", "readme": "fires"}
        repository.put("go/a.go")
        assert says(repository, "go/a.go") == {"format": "satisfied", "readme": "satisfied"}

    def test_a_glob_is_there_if_any_file_is(self, repository):
        """DW-A02"""
        repository.put("api/users.py", text="y")
        assert says(repository, "api/users.py") == {"docs": "fires"}
        repository.put("docs/api/other.md")
        assert says(repository, "api/users.py") == {"docs": "satisfied"}

    def test_from_a_folder_below(self, repository):
        assert "tests" in says(repository, "auth/login.py", folder="src")
        assert says(repository, "../README.md", folder="src") == {"readme": "safety"}

    def test_a_policy_that_is_switched_off(self, repository):
        uid = "policies:.deepwork/policies/readme.md#readme"
        switches = {"version": 1, "disabled": {uid: {"at": "2026-01-01T00:00:00+00:00"}}}
        repository.put(".bylaw/state/switches.json", text=json.dumps(switches))
        assert says(repository, "README.md") == {"readme": "off"}

    def test_where_git_cannot_tell(self, repository):
        (repository.root / "bylaw.toml").touch()
        (repository.root / ".git").rename(repository.root / "away")
        assert says(repository, "a.c") == {"format": "unknown"}

    @pytest.mark.parametrize("name", ["ä ö.py", "a\nb.py", "[x].py", "-x.py"])
    def test_odd_names(self, repository, name):
        repository.put(f"src/{name}")
        assert says(repository, f"src/{name}")["tests"] == "fires"


class TestText:
    def test_everything(self, repository):
        repository.put("src/auth/login.py", text="y")
        done = repository.bylaw("explain", "src/auth/login.py")
        assert done.returncode == 0
        assert done.stdout == (
            "src/auth/login.py\n"
            "  fresh\n"
            "    created src/**\n"
            "    it is not new against the default branch, and the policy checks only new\n"
            "    files\n"
            "  readme\n"
            "    trigger src/**/*.py\n"
            "    it changed since its branch began: the policy notifies the agent\n"
            "  tests (Source/Test Pairing)\n"
            "    set src/{path}.py  with path = auth/login\n"
            "    expects tests/auth/login_test.py, which did not change\n"
            "    it changed since its branch began: the policy notifies the agent\n"
            "  not matched by:\n"
            "    docs: no pattern matches: `api/{path}.py`, `docs/api/*.md`\n"
            "    format: no pattern matches: `**/*.c`\n"
        )

    def test_nothing_looks_at_it(self, repository):
        assert "no policy matches it" in repository.bylaw("explain", "x.txt").stdout

    def test_no_policies(self, tmp_path):
        done = Repository(tmp_path).bylaw("explain", "x.txt")
        assert (done.returncode, done.stdout) == (0, "x.txt\n  there are no policies\n")

    def test_no_cursor_is_moved(self, repository):
        shown = repository.bylaw("explain", "src/\x1b[2J.py").stdout
        assert "\x1b" not in shown

    def test_a_broken_policy_is_told(self, repository):
        repository.policy("bad", "triger: x")
        done = repository.bylaw("explain", "a.c")
        assert done.returncode == 1
        assert "did you mean `trigger`?" in done.stderr
        assert "  format\n" in done.stdout

    def test_other_languages_are_not_its_concern(self, repository):
        repository.put("rules/bad.toml", text="broken")
        done = repository.bylaw("explain", "a.c")
        assert done.returncode == 0
        assert "bad.toml" not in done.stderr

    def test_through_a_link(self, repository, tmp_path_factory):
        link = tmp_path_factory.mktemp("links") / "here"
        link.symlink_to(repository.root)
        done = repository.bylaw("explain", f"{link}/a.c")
        assert done.stdout.startswith("a.c\n  format\n")

    def test_outside(self, repository):
        done = repository.bylaw("explain", "../x")
        assert (done.returncode, done.stdout) == (1, "")
        assert "is outside of" in done.stderr


class TestEntries:
    """What was answered is not asked again, until the content is another one (DW-A19)."""

    POLICY = PolicySyntax(id="one", title="one", mode=Mode.TRIGGER, trigger=("a",), body="x")

    def statements(self, digest, status=EntryStatus.PASSED):
        file = ChangedFile(path="a", status=FileStatus.MODIFIED, digest="1")
        changes = ChangeSet(ref="abc", files=(file,))
        finding = find_match(self.POLICY, changes)
        entries = {
            trigger_hash("one", ["a"], "abc"): Entry(
                policy="one", status=status, digest=content_digest(finding.paths, {"a": digest})
            )
        }
        explaining = PolicyExplainer(Changes(base=changes), entries.get)
        return explaining.about(PolicyEntry(self.POLICY, "one.md", False), "a").says

    def test_answered(self):
        assert self.statements("1") is PolicyStatus.SETTLED

    def test_another_content(self):
        assert self.statements("2") is PolicyStatus.FIRES

    @pytest.mark.parametrize("status", [EntryStatus.QUEUED, EntryStatus.FAILED])
    def test_not_answered(self, status):
        assert self.statements("1", status) is PolicyStatus.FIRES
