"""Programs as a person starts them: in a session of their own, which a real terminal controls."""

import os
import pty
import select
import subprocess
import sys
import time

# The shell does not become what it starts, so there is a leader of the session above it.
SHELL = ["/bin/sh", "-c", '"$@"; exit', "sh"]
_IN_ITS_OWN_SESSION = [
    sys.executable,
    "-c",
    "import os, sys; os.login_tty(0); os.execv(sys.argv[1], sys.argv[1:])",
]


class Terminal:
    """A terminal in which that runs; `opened_by` is a program that stands above the session."""

    def __init__(self, words, *, folder=None, environment=None, opened_by=()):
        self._main, side = pty.openpty()
        self.process = subprocess.Popen(
            [*opened_by, *_IN_ITS_OWN_SESSION, *map(str, words)],
            cwd=folder,
            env=environment,
            stdin=side,
            stdout=side,
            stderr=side,
        )
        os.close(side)
        self._raw = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self._main)  # which hangs up
        self.process.wait(300)

    @property
    def shown(self):
        """What stands on the screen so far."""
        return self._raw.decode(errors="replace").replace("\r\n", "\n")

    def until(self, ending):
        """What is shown so far, as soon as it ends so, or when everything has ended."""
        while not self.shown.endswith(ending) and self._read():
            pass
        return self.shown

    def wait_for(self, words, after=0, seconds=300):
        """Until these words are shown behind that many characters; where they end."""
        end = time.monotonic() + seconds
        while words not in self.shown[after:]:
            left = end - time.monotonic()
            ready = left > 0 and select.select([self._main], [], [], left)[0]
            assert ready, f"{words!r} is not in {self.shown[after:]!r}"
            assert self._read(), f"{words!r} is not in {self.shown[after:]!r}"
        return self.shown.index(words, after) + len(words)

    def type(self, keys):
        """Press these keys."""
        os.write(self._main, keys)

    def rest(self):
        """Everything that was shown, when the program has ended."""
        while self._read():
            pass
        self.process.wait(300)
        return self.shown

    def _read(self):
        try:
            piece = os.read(self._main, 1024)
        except OSError:  # the other side is closed
            return False
        self._raw += piece
        return True
