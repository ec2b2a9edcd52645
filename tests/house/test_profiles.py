"""The profile of property tests limits what a test asks for."""

import os
import subprocess
import sys

import pytest
from source_code import ROOT

SAMPLE = """
from pathlib import Path
from hypothesis import given, settings, strategies as st

PLACE = Path(__file__).with_name("runs")


def note():
    with PLACE.open("a") as stream:
        stream.write("x")


@settings(max_examples=50)
@given(st.integers())
def test_function(number):
    note()


class TestMethods:
    @settings(max_examples=50)
    @given(st.integers())
    def test_method(self, number):
        note()
"""


@pytest.mark.parametrize(("profile", "runs"), [("quick", 20), ("default", 100)])
def test_how_many_examples_run(tmp_path, profile, runs):
    (tmp_path / "test_sample.py").write_text(SAMPLE)
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_sample.py"],
        cwd=tmp_path,
        env=os.environ | {"BYLAW_HYPOTHESIS": profile},
        check=False,
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0, done.stdout
    assert len((tmp_path / "runs").read_text()) == runs
