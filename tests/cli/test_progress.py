"""Words about long work: on a terminal only, and gone afterwards."""

import os
import pty
import subprocess
import sys

CLEAR = "\r\x1b[K"
WORK = """
import time
from bylaw.cli.terminal import PROGRESS_DELAY_S, progress
with progress() as tell:
    tell("one long thing")
    time.sleep(PROGRESS_DELAY_S + 0.1)
    tell("half way")
"""


def test_a_pipe_sees_nothing():
    done = subprocess.run(
        [sys.executable, "-c", WORK], capture_output=True, timeout=300, check=True
    )

    assert (done.stdout, done.stderr) == (b"", b"")


def on_terminal(work):
    main, side = pty.openpty()
    subprocess.run([sys.executable, "-c", work], stderr=side, timeout=300, check=True)
    os.close(side)
    shown = os.read(main, 4096)
    os.close(main)
    return shown.decode()


def test_a_terminal_sees_a_line_that_goes_away():
    assert on_terminal(WORK) == f"{CLEAR}one long thing …{CLEAR}half way …{CLEAR}"


def test_what_is_quick_needs_no_words():
    quick = "from bylaw.cli.terminal import progress\nwith progress() as tell:\n    tell('x')\n"
    # There is always something to read at the end.
    assert on_terminal(f"{quick}import sys; sys.stderr.write('done')") == "done"


def test_no_words_take_the_line_away():
    beside = WORK + '    tell(""); print("note", file=sys.stderr)\n'
    shown = on_terminal(f"import sys\n{beside}")
    assert shown == f"{CLEAR}one long thing …{CLEAR}half way …{CLEAR}note\r\n"
