"""What docs/hosts/worktree.md tells git, pre-commit and CI to run holds up what must be held up."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))

from site_pages import FENCE  # noqa: E402 - docs/ is no package

PAGE = (ROOT / "docs/hosts/worktree.md").read_text(encoding="utf-8")
[POLICY] = [one["text"] for one in FENCE.finditer(PAGE) if one["kind"] == "policies"]
SET_UP, HOOK, CONFIGURATION, CI = (one["text"] for one in FENCE.finditer(PAGE) if not one["kind"])


@pytest.fixture
def shell(tmp_path):
    """Runs lines in a repository with a remote; `src/cart.py` and its test are in both."""
    root = tmp_path / "shop"
    programs = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    who = {
        f"GIT_{who}_{what}": "you@here"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    own = {"HOME": str(tmp_path), "PATH": programs, "BYLAW_RESIDENT": "0", **who}

    def run(lines, cwd=root):
        return subprocess.run(
            ["sh", "-e", "-c", lines],
            cwd=cwd,
            env={**os.environ, **own},
            capture_output=True,
            text=True,
            check=False,
        )

    run(f"git init -q --bare remote && git init -q -b main {root.name}", tmp_path)
    for name, text in (
        (".deepwork/policies/tests.md", POLICY),
        ("src/cart.py", ""),
        ("tests/cart_test.py", ""),
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    run(
        "git add -A && git commit -qm begin && git remote add origin ../remote && git push -q origin main"
    )
    run("git switch -qc work")
    (root / "src/cart.py").write_text("TAX = 0.2\n")
    run.root = root
    return run


def test_git_stops_a_commit(shell):
    assert "an executable file `.git/hooks/pre-commit`" in PAGE.lower()
    hook = shell.root / ".git/hooks/pre-commit"
    hook.write_text(HOOK)
    hook.chmod(0o755)

    refused = shell("git add -A && git commit -qm change")
    (shell.root / "tests/cart_test.py").write_text("assert True\n")
    passed = shell("git add -A && git commit -qm change")

    assert refused.returncode == 1
    assert "src/cart.py → tests/cart_test.py" in refused.stderr
    assert passed.returncode == 0, passed.stderr


def test_pre_commit_is_given_the_same_command(shell):
    [repo] = yaml.safe_load(CONFIGURATION)["repos"]
    [hook] = repo["hooks"]
    told = shell(hook["entry"])

    assert (hook["language"], hook["pass_filenames"], hook["always_run"]) == ("system", False, True)
    assert (told.returncode, "src/cart.py → tests/cart_test.py" in told.stdout) == (1, True)


def test_ci_is_red(shell):
    told = shell(f"git add -A && git commit -qm change\n{CI}")

    assert (told.returncode, "src/cart.py → tests/cart_test.py" in told.stdout) == (1, True)
    assert shell(CI.partition("bylaw policies")[0]).returncode == 0


def test_the_lines_of_set_up_work(shell):
    told = shell(SET_UP.replace("policies new", "policies new --help"))

    assert (told.returncode, "src/cart.py → tests/cart_test.py" in told.stdout) == (1, True)
