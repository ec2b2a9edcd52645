"""What is released: built from the sources, installed by pipx where nothing else is, and used."""

import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from bylaw.version import __version__
from demo_closing import run_closing_lines

ROOT = Path(__file__).parent.parent.parent


def run(*command, cwd=None, **environment):
    done = subprocess.run(
        command, cwd=cwd, env=environment or None, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    """A wheel and an sdist of the sources as they are."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "hatchling", "build", "-d", folder, cwd=ROOT)
    return folder


@pytest.fixture(scope="module")
def installed(dist, tmp_path_factory):
    """The program as pipx installs it; everything of pipx is in a folder of its own."""
    home = tmp_path_factory.mktemp("home")
    venv.create(home / "pipx", with_pip=True)
    python = home / "pipx/bin/python"
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "pipx")
    (wheel,) = dist.glob("*.whl")
    own = {"HOME": str(home), "PIPX_HOME": str(home / "apps"), "PIPX_BIN_DIR": str(home / "bin")}
    run(python, "-m", "pipx", "install", wheel, **_inherited(), **own)
    return home / "bin/bylaw"


def _inherited():
    """How packages are found here, and the rest of what a user has."""
    wanted = ("PATH", "LANG", "PIP_", "HTTP", "http", "NO_PROXY", "no_proxy", "SSL_", "REQUESTS_")
    return {name: value for name, value in os.environ.items() if name.startswith(wanted)}


def test_both_have_the_version_that_stands_in_one_place(dist):
    names = sorted(one.name for one in dist.iterdir())
    assert names == [f"bylaw-{__version__}-py3-none-any.whl", f"bylaw-{__version__}.tar.gz"]


def test_the_wheel_holds_every_file_of_the_package(dist):
    (wheel,) = dist.glob("*.whl")
    tracked = run("git", "ls-files", "src/bylaw", cwd=ROOT).split("\n")
    wanted = {name.removeprefix("src/") for name in tracked if name}
    with zipfile.ZipFile(wheel) as opened:
        assert wanted <= set(opened.namelist())


def test_the_sdist_can_be_built_again(dist, tmp_path):
    (sdist,) = dist.glob("*.tar.gz")
    with tarfile.open(sdist) as opened:
        opened.extractall(tmp_path, filter="data")
    (sources,) = tmp_path.iterdir()
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path, cwd=sources)
    (again,) = tmp_path.glob("*.whl")
    (wheel,) = dist.glob("*.whl")
    with zipfile.ZipFile(again) as built, zipfile.ZipFile(wheel) as first:
        assert sorted(built.namelist()) == sorted(first.namelist())


def test_it_works_where_nothing_else_is(installed, tmp_path):
    home = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    assert run(installed, "--version", **home).strip().endswith(__version__)
    said = run(installed, "demo", tmp_path / "demo", **home)
    assert "deny policy:apply_patch/quota" in said
    run_closing_lines(said, **home)
