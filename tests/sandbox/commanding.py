"""Running commands in a folder, most of them short programs in Python."""

import json
import sys
import time

from bylaw.runtime.sandbox.command import run
from bylaw.runtime.sandbox.request import CommandRequest

# Time limits for a command that hangs: the first is enough if the machine is idle.
LIMITS_S = (1, 10, 100)
PYTHON = (sys.executable, "-I", "-S", "-c")


class Commanding:
    """A folder `root` in which commands may run, and one `outside` of it."""

    def __init__(self, folder):
        self.root, self.outside = folder / "root", folder / "outside"
        self.root.mkdir()
        self.outside.mkdir()

    def command(self, *argv, **more):
        usual = {"cwd": str(self.root), "roots": (str(self.root),), "timeout_s": 300}
        return CommandRequest(argv=argv, **(usual | more))

    def run(self, *argv, cancellation=None, **more):
        return run(self.command(*argv, **more), cancellation)

    def python(self, code, *arguments, **more):
        return self.run(*PYTHON, code, *arguments, **more)

    def until_limit(self, *argv, begun):
        """Run a command until its time limit, and return the result.

        The limit grows until the command had time for what `begun` checks of the result.
        """
        for seconds in LIMITS_S:
            result = self.run(*argv, timeout_s=seconds)
            assert result.timed_out
            if begun(result):
                break
        return result

    def told(self, code, *arguments, **more):
        """What a program says as JSON."""
        result = self.python(code, *arguments, **more)
        assert result.ok, (result.error, result.stderr.text)
        return json.loads(result.stdout.head)

    def files(self):
        """What lies in the root."""
        return sorted(path.name for path in self.root.iterdir())

    def program(self, name, text, mode=0o755):
        """A file in the root that may be one."""
        path = self.root / name
        path.write_text(text)
        path.chmod(mode)
        return str(path)

    def nobody_beats(self, seconds=0.3):
        """Whether the file that a living process goes on to write stays as it is."""
        before = self._beat()
        time.sleep(seconds)
        return self._beat() == before

    def _beat(self):
        path = self.root / "beat"
        return path.read_bytes() if path.exists() else None


# A process that writes and writes, until somebody ends it.
BEAT = """
def beat():
    import time
    count = 0
    while True:
        count += 1
        with open("beat", "w") as file:
            file.write(str(count))
        time.sleep(0.01)
"""


def wait_for(path, seconds=300.0):
    """Wait until a file is there."""
    deadline = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.005)
