"""Git for pages: everybody's commits come from one person at one moment, so hashes are the same."""

import os
import subprocess

from recording import BEGIN

_MOMENT = f"{BEGIN // 1_000} +0000"
_VARIABLES = {
    "PATH": os.environ["PATH"],
    "HOME": "/nowhere",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_AUTHOR_DATE": _MOMENT,
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
    "GIT_COMMITTER_DATE": _MOMENT,
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "init.defaultBranch",
    "GIT_CONFIG_VALUE_0": "main",
}


def run_git(words):
    """Run a command of git in the current folder: its output, its complaints, its exit code."""
    done = subprocess.run(words, env=_VARIABLES, capture_output=True, text=True, check=False)
    return done.stdout, done.stderr, done.returncode
