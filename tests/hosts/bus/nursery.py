"""A process from which orchestrators are forked that need not load anything first.

Each line of standard input is a JSON list: where its two outputs go, then the arguments of `bylaw`.
The number of the new process is said. Nobody has to wait for it: the system does.
"""

import json
import os
import signal
import sys

from bylaw.cli import main
from bylaw.hosts.bus import file_rules, orchestrator  # noqa: F401 - loaded once, here
from bylaw.runtime.sandbox.client import detect_isolation


def become(said, noted, words):
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number, path in ((1, said), (2, noted)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.argv = ["bylaw", *words]
    os._exit(main())


detect_isolation()
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for line in sys.stdin:
    said, noted, *words = json.loads(line)
    child = os.fork()
    if child == 0:
        become(said, noted, words)
    sys.stdout.write(f"{child}\n")
    sys.stdout.flush()
