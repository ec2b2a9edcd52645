"""`bylaw policies migrate`: what is shown is what is written; nothing is lost, nothing guessed."""

import json

import pytest
from on_terminal import BYLAW, call, on_terminal

from bylaw.languages.file_policies.syntax import CompareTo
from bylaw.report.policy_files import read_checked

FOLDER = ".deepwork/policies"
OLD = ".deepwork.policy.yml"
# As the document shows it.
README = """\
- name: "README Accuracy"
  trigger: "src/**/*"
  safety: "README.md"
  instructions: |
    Please verify README.md is accurate.
"""
READ_ME_NEW = (
    "---\ntrigger: src/**/*\nsafety: README.md\n---\nPlease verify README.md is accurate.\n"
)
SHOWN = """\
--- /dev/null
+++ .deepwork/policies/readme-accuracy.md
@@ -0,0 +1,5 @@
+---
+trigger: src/**/*
+safety: README.md
+---
+Please verify README.md is accurate.
"""
TWO = """\
- name: Version bump
  trigger: [pyproject.toml, "**/version.py"]
  instructions_file: notes/bump.md
  compare_to: prompt
- name: API
  trigger: api/**
  instructions: Look.
"""


@pytest.fixture
def root(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / OLD).write_text(README)
    return tmp_path


def migrate(root, *words):
    return call(root, "policies", "migrate", *words, program=BYLAW)


def files(root):
    return {path.name: path.read_text() for path in (root / FOLDER).glob("*")}


class TestConversion:
    def test_the_example_of_the_document(self, root):
        """DW-140"""
        done = migrate(root, "--yes")
        assert (done.returncode, done.stderr) == (0, "")
        assert files(root) == {"readme-accuracy.md": READ_ME_NEW}
        policy, _ = read_checked("readme-accuracy.md", READ_ME_NEW)
        assert (policy.id, policy.title) == ("readme-accuracy", "readme-accuracy")

    def test_the_old_file_stays(self, root):
        """DW-138"""
        done = migrate(root, "--yes")
        assert "the old file is kept and is not read any more" in done.stdout
        assert (root / OLD).read_text() == README

    def test_all_keys(self, root):
        (root / OLD).write_text(TWO)
        (root / "notes").mkdir()
        (root / "notes/bump.md").write_bytes(b"\r\n# Bump\r\n\r\n---\r\nthe version\r\n\r\n")
        assert migrate(root, "--yes").returncode == 0
        assert set(files(root)) == {"version-bump.md", "api.md"}
        policy, _ = read_checked("version-bump.md", files(root)["version-bump.md"])
        assert policy.trigger == ("pyproject.toml", "**/version.py")
        assert policy.compare_to is CompareTo.PROMPT
        assert policy.body == "# Bump\n\n---\nthe version"

    def test_where_policies_lie(self, root):
        (root / ".deepwork").mkdir()
        (root / ".deepwork/config.yml").write_text("policy: {policies_dir: rules}\n")
        (root / "rules").mkdir()
        assert migrate(root, "--yes").returncode == 0
        assert (root / "rules/readme-accuracy.md").read_text() == READ_ME_NEW

    def test_another_file(self, root):
        (root / OLD).rename(root / "old.yml")
        assert migrate(root, "old.yml", "--yes").returncode == 0
        assert files(root) == {"readme-accuracy.md": READ_ME_NEW}

    def test_a_star_that_reached_into_folders(self, root):
        (root / OLD).write_text('- {name: A, trigger: ["*.py", "src/**/*.c"], instructions: x}\n')
        done = migrate(root, "--yes")
        assert done.returncode == 0
        assert done.stderr.count("warning[legacy-wildcard]") == 1
        assert f"--> {OLD}:1:" in done.stderr


class TestAsking:
    def test_a_dry_run_shows_the_diff_and_writes_nothing(self, root):
        done = migrate(root, "--dry-run")
        assert (done.returncode, done.stdout) == (0, SHOWN)
        assert not (root / ".deepwork").exists()

    def test_in_a_pipe_it_wants_yes(self, root):
        done = migrate(root)
        assert (done.returncode, done.stdout) == (1, SHOWN)
        assert "--yes" in done.stderr
        assert not (root / ".deepwork").exists()

    @pytest.mark.parametrize(("answer", "code"), [(b"y\n", 0), (b"n\n", 1), (b"\n", 1)])
    def test_on_a_terminal(self, root, answer, code):
        shown, exit_code = on_terminal(root, ["policies", "migrate"], answer)
        assert exit_code == code
        assert (root / FOLDER).exists() is (code == 0)
        assert ("nothing was written" in shown) is (code == 1)

    def test_a_second_time_there_is_nothing_to_write(self, root):
        migrate(root, "--yes")
        done = migrate(root)
        assert (done.returncode, done.stdout) == (
            0, "all policies already exist; nothing to write\n",
        )  # fmt: skip

    def test_json(self, root):
        file = {"path": f"{FOLDER}/readme-accuracy.md", "standing": "new", "text": READ_ME_NEW}
        unasked = migrate(root, "--format", "json")
        assert unasked.returncode == 1
        assert json.loads(unasked.stdout) == {"files": [file], "written": 0, "diagnostics": []}
        asked = migrate(root, "--format", "json", "--yes")
        assert asked.returncode == 0
        assert json.loads(asked.stdout)["written"] == 1
        assert files(root) == {"readme-accuracy.md": READ_ME_NEW}

    def test_yes_to_nothing(self, root):
        assert migrate(root, "--yes", "--dry-run").returncode == 2

    def test_control_characters_are_seen(self, root):
        (root / OLD).write_text('- {name: A, trigger: a, instructions: "\\e[2J"}\n')
        assert "\x1b" not in migrate(root, "--dry-run").stdout


ENTRY = "{{name: {}, trigger: {}, instructions: x}}"


class TestRefused:
    """Told at its place in the old file; nothing at all is written."""

    @pytest.mark.parametrize(
        ("text", "line", "expected"),
        [
            ("- " + ENTRY.format("A", '"src/[ab].py"'), 1, "src/[ab].py"),
            (
                "- " + ENTRY.format("A", "a") + '\n- {name: B, trigger: "!x", instructions: x}',
                2,
                "!",
            ),
            ("- " + ENTRY.format('"A b"', "a") + "\n- " + ENTRY.format("a/B", "a"), 2, "a-b.md"),
            ("- {trigger: a, instructions: x}", 1, "has no `name`"),
            ("- {name: A, instructions: x}", 1, "has no `trigger`"),
            ("- {name: A, trigger: a}", 1, "has no instructions"),
            ("- {name: A, trigger: a, instructions: x, instructions_file: y}", 1, "given twice"),
            ("- {name: A, trigger: a, instructions: ' '}", 1, "a text that is not empty"),
            ("- {name: A, trigger: a, instructions_file: gone.md}", 1, "file not found"),
            ("- {name: A, trigger: a, instructions_file: ../x.md}", 1, "leads out"),
            ("- {name: A, trigger: a, instructions: x, compare_to: never}", 1, "never"),
            ("- {name: A, trigger: a, instruction: x}", 1, "did you mean `instructions`"),
            ("- {name: '..', trigger: a, instructions: x}", 1, "letters or digits"),
            ("- {name: 5, trigger: a, instructions: x}", 1, "must be a text"),
            ("policies: []", 1, "list of policies"),
            ("- text", 1, "must be a mapping"),
            ("- name: [", 1, "not closed"),
        ],
    )
    def test_a_policy_that_does_not_fit(self, root, text, line, expected):
        (root / OLD).write_text(f"{text}\n")
        done = migrate(root, "--yes")
        assert (done.returncode, done.stdout) == (1, "")
        assert f"--> {OLD}:{line}:" in done.stderr
        assert expected in done.stderr
        assert not (root / ".deepwork").exists()

    def test_another_file_in_its_place(self, root):
        (root / OLD).write_text(README + "- {name: B, trigger: a, instructions: x}\n")
        (root / FOLDER).mkdir(parents=True)
        (root / FOLDER / "readme-accuracy.md").write_text("mine")
        done = migrate(root, "--yes")
        assert (done.returncode, done.stdout) == (1, "")
        assert f"`{FOLDER}/readme-accuracy.md`: another file is in its place" in done.stderr
        assert files(root) == {"readme-accuracy.md": "mine"}

    def test_no_file_can_be_put_there(self, root):
        (root / OLD).write_text(README + "- {name: B, trigger: a, instructions: x}\n")
        (root / FOLDER / "b.md").mkdir(parents=True)
        done = migrate(root, "--yes")
        assert (done.returncode, done.stdout) == (1, "")
        assert f"`{FOLDER}/b.md`: it is a folder; nothing was written" in done.stderr
        assert [path.name for path in (root / FOLDER).iterdir()] == ["b.md"]

    def test_no_old_file(self, root):
        (root / OLD).unlink()
        done = migrate(root)
        assert (done.returncode, done.stdout) == (1, "")
        assert f"cannot read `{OLD}`: file not found" in done.stderr
