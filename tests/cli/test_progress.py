"""Words about long work: on a terminal only, and gone afterwards."""

import os
import pty
import subprocess
import sys

WORK = """
import time
from bylaw.cli.progress import PATIENCE_S, progress
with progress() as tell:
    tell("too early")
    time.sleep(PATIENCE_S + 0.1)
    tell("half way")
"""


def test_a_pipe_sees_nothing():
    done = subprocess.run([sys.executable, "-c", WORK], capture_output=True, timeout=60, check=True)

    assert (done.stdout, done.stderr) == (b"", b"")


def test_a_terminal_sees_a_line_that_goes_away():
    main, side = pty.openpty()
    subprocess.run([sys.executable, "-c", WORK], stderr=side, timeout=60, check=True)
    os.close(side)
    shown = os.read(main, 4096)
    os.close(main)

    assert shown.decode() == "\r\x1b[Khalf way …\r\x1b[K"
