"""docs/hooks.md says what the code does: its example, and its numbers."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bylaw.hosts.clients.fail_closed import END_PATIENCE_S, PATIENCE_S, STOP_PATIENCE_S
from bylaw.hosts.hooks.entrypoint import MAX_PAYLOAD
from bylaw.runtime.answer import MAX_IN_A_ROW
from bylaw.runtime.effects import ABILITIES
from bylaw.runtime.settings import StopSettings

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "hooks.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "words",
    [
        f"longer than {PATIENCE_S:g} s; {STOP_PATIENCE_S:g} s at a stop, {END_PATIENCE_S:g} s at",
        f"larger than {MAX_PAYLOAD >> 20} MiB",
        f"`[stop] max_blocks` times ({StopSettings().max_blocks})",
        f"after {MAX_IN_A_ROW} blocks in a row",
    ],
)
def test_numbers_are_those_of_the_code(words):
    assert words in PAGE


def test_the_example_runs(tmp_path):
    (script,) = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    programs = str(Path(sys.executable).parent)
    seen = {**os.environ, "HOME": str(tmp_path), "TMPDIR": str(tmp_path), "BYLAW_RESIDENT": "0"}
    seen["PATH"] = f"{programs}:{seen['PATH']}"

    done = subprocess.run(
        ["sh", "-e", "-c", script], capture_output=True, text=True, env=seen, check=False
    )

    assert done.stdout.count("\n") == 1
    assert '"permissionDecision":"deny"' in done.stdout
    assert done.stderr == "Never with --force.\n(rule no-force, guard.chatmd:5)\n"
    assert done.returncode == 2


def test_pages_say_that_no_language_asks_about_a_call():
    """Once one does, these sentences have to go."""
    languages = ROOT / "src/bylaw/languages"
    asking = [path for path in languages.rglob("*.py") if "Verdict.ASK" in path.read_text("utf-8")]
    assert asking == [languages / "law/built_in.py"]  # its rule `held`, about messages of the bus

    clients = [ROOT / f"docs/hosts/{host}.md" for host in ABILITIES]
    for page in (ROOT / "docs/hooks.md", ROOT / "docs/decisions.md", *clients):
        words = " ".join(page.read_text("utf-8").split())
        assert re.search(r"[Nn]o language asks (a person )?about a call today", words), page
