"""`bylaw doctor` with real clients: what it says of them, and whether they hold."""

import json
import os
import subprocess
import sys

import pytest
from install import HERE, PROGRAMS

from conftest import HOSTS


@pytest.fixture
def doctor(tmp_path):
    """Call it in an empty folder; its exit code, and what it says for programs."""

    def called(*words):
        done = subprocess.run(
            [sys.executable, "-I", "-m", "bylaw", "doctor", *words, "--format", "json"],
            cwd=tmp_path,
            env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stderr == ""
        return done.returncode, json.loads(done.stdout)

    yield called
    assert not list(tmp_path.iterdir()), "a client was started with a home of its own"


@pytest.mark.parametrize("host", HOSTS)
def test_a_client_holds(doctor, host):
    code, told = doctor("--canary", host)
    (trial,) = told["trials"]
    assert (trial["fired"], trial["obeyed"], trial["reached"]) == (True, True, True), trial
    assert code == 0


def test_versions_are_those_that_are_pinned(doctor):
    _, told = doctor()
    versions = {one["host"]: one["version"] for one in told["clients"]}
    pinned = json.loads((HERE / "package.json").read_text())["dependencies"]
    assert versions == {host: pinned[package] for host, (package, _) in PROGRAMS.items()}
