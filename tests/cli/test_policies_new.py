"""`bylaw policies new` as a process: what it writes is a policy that loads, and says what was meant."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from on_terminal import BYLAW, call

from bylaw.languages.file_policies.reader import read_policy
from bylaw.languages.file_policies.syntax import (
    CommandAction,
    CompareTo,
    Mode,
    PolicySyntax,
    RunFor,
)
from bylaw.model.errors import PolicyError
from bylaw.model.source import SourceFile
from bylaw.report.policy_files import kebab, policy_text, read_checked, starter_text

FOLDER = ".deepwork/policies"


@pytest.fixture
def root(tmp_path):
    (tmp_path / ".git").mkdir()
    return tmp_path


def new(root, *words):
    return call(root, "policies", "new", *words, program=BYLAW)


def made(root, name, *words):
    """The policy that was written."""
    done = new(root, name, *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{FOLDER}/{name}.md\n"
    return read_checked(f"{name}.md", (root / FOLDER / f"{name}.md").read_text())[0]


class TestPolicy:
    def test_a_trigger_with_safety(self, root):
        made(root, "readme", "--trigger", "src/**/*.py", "--trigger", "**/*.c", "--safety", "R.md")
        assert (root / FOLDER / "readme.md").read_text() == (
            '---\ntrigger:\n  - src/**/*.py\n  - "**/*.c"\nsafety: R.md\n---\n'
            "These files changed: {trigger_files}. Check what depends on them.\n"
        )

    def test_a_set(self, root):
        words = ["--trigger", "src/{path}.py", "--trigger", "{path}_test.py"]
        policy = made(root, "tests", "--mode", "set", *words, "--title", "Source: Tests")
        assert (policy.mode, policy.trigger) == (Mode.SET, ("src/{path}.py", "{path}_test.py"))
        assert policy.title == "Source: Tests"

    def test_a_pair(self, root):
        words = ["--trigger", "api/{path}.py", "--expects", "a/{path}.md", "--expects", "b.md"]
        policy = made(root, "docs", "--mode", "pair", *words, "--compare-to", "prompt")
        assert (policy.trigger, policy.expects) == (("api/{path}.py",), ("a/{path}.md", "b.md"))
        assert policy.compare_to is CompareTo.PROMPT

    def test_what_is_created(self, root):
        policy = made(root, "fresh", "--mode", "created", "--trigger", "a", "--body", " Look.\n")
        assert (policy.mode, policy.body) == (Mode.CREATED, "Look.")

    @pytest.mark.parametrize(
        ("command", "run_for"), [("ruff {file}", "each_match"), ("ruff -- {files}", "all_matches")]
    )
    def test_a_command(self, root, command, run_for):
        policy = made(root, "format", "--trigger", "**/*.py", "--command", command)
        assert (policy.action.command, policy.action.run_for) == (command, run_for)
        assert policy.body == ""

    @pytest.mark.parametrize("mode", Mode)
    def test_a_file_to_begin_with(self, root, mode):
        policy = made(root, "begin", "--mode", mode.value)
        assert policy.mode is mode
        assert max(map(len, starter_text(mode).split("\n"))) <= 100

    @pytest.mark.parametrize("mode", Mode)
    def test_its_comments_are_right(self, mode):
        """What is commented out loads, too."""
        text = "\n".join(_uncommented(starter_text(mode).split("\n")))
        policy, _ = read_checked("begin.md", text)
        assert (policy.title, policy.action.command) == ("A Title", "ruff format {file}")

    def test_where_policies_lie(self, root):
        """DW-117"""
        (root / ".deepwork").mkdir()
        (root / ".deepwork/config.yml").write_text("policy: {policies_dir: rules}\n")
        done = new(root, "one")
        assert (done.returncode, done.stdout) == (0, "rules/one.md\n")
        assert (root / "rules/one.md").is_file()

    def test_from_a_folder_below(self, root):
        (root / "src").mkdir()
        assert new(root / "src", "one").stdout == f"{FOLDER}/one.md\n"
        assert (root / FOLDER / "one.md").is_file()


def _uncommented(lines):
    """What a person has who takes the marks of comments away from keys."""
    for line in lines:
        key = line.removeprefix("# ")
        is_key = key != line and key.lstrip().split(":")[0] in {
            "name", "safety", "compare_to", "action", "command", "run_for",
        }  # fmt: skip
        yield key if is_key else line


class TestOutput:
    def test_a_dry_run_writes_nothing(self, root):
        done = new(root, "one", "--trigger", "a", "--body", "Look.", "--dry-run")
        assert (done.returncode, done.stdout) == (0, "---\ntrigger: a\n---\nLook.\n")
        assert not (root / ".deepwork").exists()

    def test_json(self, root):
        told = json.loads(new(root, "one", "--trigger", "a", "--format", "json").stdout)
        text = (root / FOLDER / "one.md").read_text()
        path = f"{FOLDER}/one.md"
        assert told == {"policy": "one", "path": path, "written": True, "text": text}

    def test_off_is_told(self, root):
        (root / ".deepwork").mkdir()
        (root / ".deepwork/config.yml").write_text("policy: {enabled: false}\n")
        assert new(root, "one").stderr == "note: policies are disabled in .deepwork/config.yml\n"


class TestRefused:
    def test_nothing_is_overwritten(self, root):
        made(root, "one")
        before = (root / FOLDER / "one.md").read_bytes()
        for words in ([], ["--trigger", "a"], ["--dry-run"]):
            done = new(root, "one", *words)
            assert done.returncode == 1
            assert "already exists" in done.stderr
        assert (root / FOLDER / "one.md").read_bytes() == before

    @pytest.mark.parametrize(
        ("place", "why"),
        [
            ("folder", "it is a folder"),
            ("link", "it leads outside the allowed folder"),
            ("file-above", "its folder is a file"),
        ],
    )
    def test_what_else_may_be_there(self, root, place, why, tmp_path_factory):
        outside = tmp_path_factory.mktemp("outside")
        (root / FOLDER).parent.mkdir()
        if place == "file-above":
            (root / FOLDER).write_text("")
        else:
            (root / FOLDER).mkdir()
        if place == "folder":
            (root / FOLDER / "one.md").mkdir()
        if place == "link":
            (root / FOLDER / "one.md").symlink_to(outside / "one.md")
        done = new(root, "one")
        assert done.returncode == 1
        assert done.stderr == f"error: cannot write `{FOLDER}/one.md`: {why}\n"
        assert list(outside.iterdir()) == []

    @pytest.mark.parametrize("name", ["a/b", "../a", ".a", "a.md", "a b", "-", "", "a:b", "a\x1b"])
    def test_names(self, root, name):
        done = new(root, "--", name)
        assert done.returncode == 2
        assert "use letters, digits, - and _" in done.stderr
        assert "\x1b" not in done.stderr

    @pytest.mark.parametrize(
        ("words", "expected"),
        [
            (["--safety", "a"], "--trigger PATTERN"),
            (["--compare-to", "prompt"], "--trigger PATTERN"),
            (["--mode", "set", "--trigger", "a"], "two patterns"),
            (["--mode", "set", "--trigger", "a", "--trigger", "b", "--safety", "c"], "--safety"),
            (["--mode", "pair", "--trigger", "a"], "--expects PATTERN"),
            (["--mode", "pair", "--trigger", "a", "--trigger", "b", "--expects", "c"], "one"),
            (["--trigger", "a", "--expects", "b"], "--mode pair"),
            (["--trigger", "a", "--run-for", "each_match"], "--command"),
        ],
    )
    def test_options_that_do_not_fit(self, root, words, expected):
        done = new(root, "one", *words)
        assert done.returncode == 2
        assert expected in done.stderr
        assert not (root / ".deepwork").exists()

    @pytest.mark.parametrize(
        "words",
        [
            ["--trigger", "src/[ab].py"],
            ["--trigger", "a", "--command", "ruff"],
            ["--trigger", "a", "--title", "two\nlines"],
            ["--mode", "pair", "--trigger", "{a}.py", "--expects", "{b}.md"],
        ],
    )
    def test_what_does_not_load_is_not_written(self, root, words):
        done = new(root, "one", *words)
        assert done.returncode == 1
        assert f"--> {FOLDER}/one.md:" in done.stderr
        assert not (root / ".deepwork").exists()

    def test_broken_settings(self, root):
        (root / ".deepwork").mkdir()
        (root / ".deepwork/config.yml").write_text("policy: {policies_dir: ../x}\n")
        done = new(root, "one")
        assert (done.returncode, done.stdout) == (1, "")
        assert "is not inside" in done.stderr


TEXTS = st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]), min_size=1, max_size=30)
PATTERNS = st.tuples(st.sampled_from(["src/**/*.py", "**/*.c", "{a}/b c.md", "- x", "a: b", "'#"]))


@given(title=TEXTS, trigger=PATTERNS, safety=PATTERNS, body=TEXTS, command=TEXTS)
def test_what_is_written_is_read_again(title, trigger, safety, body, command):
    policy = PolicySyntax(
        id="one", title=title.strip() or "one", mode=Mode.TRIGGER, trigger=trigger, safety=safety,
        action=CommandAction(f"a {command} {{file}}", (), RunFor.EACH_MATCH), body=body,
    )  # fmt: skip
    text = policy_text(policy)
    read, findings = read_policy(SourceFile("one.md", text))
    if read is None:  # a command or a body may be what no policy has
        assert findings
        return
    assert (read.title, read.trigger, read.safety) == (policy.title, trigger, safety)
    assert read.action.command == policy.action.command


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("README Accuracy", "readme-accuracy"),
        ("  Source/Test  Pairing! ", "source-test-pairing"),
        ("Straße_2", "straße-2"),
        ("../..", ""),
        ("x" * 300, "x" * 200),
    ],
)
def test_kebab(title, expected):
    assert kebab(title) == expected


def test_a_text_that_does_not_load():
    with pytest.raises(PolicyError):
        read_checked("one.md", "nothing")
