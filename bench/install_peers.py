"""Turns peers.txt into installed packages, one by one; a peer that does not install is named.

What requirements/dev.txt pins stays as it is: its versions are handed to pip as constraints.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

HERE = Path(__file__).parent
PEERS = HERE / "peers.txt"
LOCK = HERE.parent / "requirements" / "dev.txt"
PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", re.MULTILINE)
SECONDS_FOR_ONE_PEER = 300


def pins(path: Path) -> dict[str, str]:
    """Version by name of every `name==version` line."""
    return dict(PINNED.findall(path.read_text(encoding="utf-8")))


def missing_peers() -> dict[str, str]:
    """The peers that are not installed in their pinned version, with what is there instead."""
    return {
        name: found or "not installed"
        for name, wanted in pins(PEERS).items()
        if (found := installed_version(name)) != wanted
    }


def installed_version(name: str) -> str | None:
    """The version of an installed package."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def install(name: str, wanted: str, constraints: Path) -> str | None:
    """Install one peer; the reason in one line if that fails."""
    # Wheels only: a benchmark must not depend on which compilers a machine has.
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    options = ["--only-binary", ":all:", "--constraint", str(constraints)]
    try:
        done = subprocess.run(
            [*pip, *options, f"{name}=={wanted}"],
            capture_output=True,
            text=True,
            timeout=SECONDS_FOR_ONE_PEER,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"pip needed more than {SECONDS_FOR_ONE_PEER} s"
    return None if done.returncode == 0 else _reason(done.stderr)


def _reason(stderr: str) -> str:
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return (errors or lines or ["pip failed without a word"])[0]


def main() -> None:
    """Install what is missing and say how each peer stands."""
    missing = missing_peers()
    with tempfile.TemporaryDirectory() as folder:
        constraints = Path(folder) / "constraints.txt"
        locked = pins(LOCK).items()
        constraints.write_text("".join(f"{n}=={v}\n" for n, v in locked), encoding="utf-8")
        for name, wanted in pins(PEERS).items():
            reason = install(name, wanted, constraints) if name in missing else None
            print(f"{name} {wanted}: " + (f"NOT INSTALLED: {reason}" if reason else "installed"))


if __name__ == "__main__":
    main()
