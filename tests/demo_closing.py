"""What a demo says at its end → run as printed, and compared in full with a file of data.

Only times, durations, digests and folders may differ. `BYLAW_SPEC_UPDATE=1` writes the file anew.
"""

import os
import re
import subprocess
from pathlib import Path

from bylaw.report.suites.runner import UPDATE_VARIABLE

EXPECTED = Path(__file__).parent / "data" / "demo-closing.txt"
_DIFFERING = [
    # How long an effect took decides how much of its result fits into the line.
    (r"^( +\d+  \S+  \S+ +└ effect +\S+ ok\b).*$", r"\1 …"),
    (r" in\s+\d+ ms\b", ""),
    (r"20\d\d-\d\d-\d\d(?:[T ]\d\d:\d\d:\d\dZ?)?|\b\d\d:\d\d:\d\d\b", "TIME"),
    # A second prompt within one second is told apart, and moves where a long line is cut.
    (r"\bTIME-\d+\b", "TIME"),
    (r"\w*… \(tests\)", "… (tests)"),
    (r"\b20\d{6}_\d{6}_", "TIME_"),
    (r"\b[0-9a-f]{12}(?:[0-9a-f]{52})?\b|\b[0-9a-f]{4}(?=…)", "DIGEST"),
]


def run_closing_lines(said, **variables):
    """Run them from another folder; the program that they name must be there."""
    closing = said.partition("Try next")[2]
    commands = [line for line in closing.splitlines() if "bylaw" in line and line[0] in "'/"]
    assert len(commands) == 4
    done = subprocess.run(
        ["sh", "-e", "-c", closing],
        cwd="/",
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    [folder] = re.findall(r"^cd '?(.*?)'?$", closing, re.MULTILINE)
    shown = _without_what_differs(done.stdout.replace(folder, "FOLDER"))
    if os.environ.get(UPDATE_VARIABLE):
        EXPECTED.write_text(shown, encoding="utf-8")
    # A duration moves the ends of lines.
    assert shown.split() == EXPECTED.read_text(encoding="utf-8").split()


def _without_what_differs(text):
    for pattern, stand_in in _DIFFERING:
        text = re.sub(pattern, stand_in, text, flags=re.MULTILINE)
    return text
