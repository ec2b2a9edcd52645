"""Processes for pages: git, and commands of Bylaw with a file as standard input."""

import os
import subprocess
import sys
from pathlib import Path

from bylaw.report.suites.reader import FROM_FILE, GIT
from page_git import run_git


def run_process(words):
    """Run a command in the current folder: its output, its complaints, its exit code."""
    if words[0] == GIT:
        return run_git(words)
    *words, sign, path = words
    assert sign == FROM_FILE
    done = subprocess.run(
        [sys.executable, "-m", *words],
        input=Path(path).read_bytes(),
        capture_output=True,
        env={**os.environ, "BYLAW_RESIDENT": "0"},  # nothing of a test outlives it
        check=False,
    )
    return done.stdout.decode(), done.stderr.decode(), done.returncode
