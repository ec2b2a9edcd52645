"""Evaluates expressions in a process of its own, with time and memory watched from outside."""

import json
import re
import subprocess
import sys
import threading
from pathlib import Path

EVALUATE = Path(__file__).parent / "evaluate_expressions.py"
SECONDS = 600
MEBIBYTES_ALLOWED = 512
MEBIBYTES = 300


def evaluated(language, texts, folder):
    """The seconds that each took and how it ended; all of them end, in little memory."""
    lines, peak = _watched(language, texts, folder)

    assert len(lines) == len(texts), f"no end: {texts[len(lines)]}"
    assert peak is not None
    assert peak < MEBIBYTES
    return lines


def _watched(language, texts, folder):
    file = folder / "expressions.json"
    file.write_text(json.dumps(texts), encoding="utf-8")
    command = [sys.executable, EVALUATE, language, file, str(MEBIBYTES_ALLOWED)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        watch = threading.Timer(SECONDS, process.kill)
        watch.start()
        lines = [json.loads(line) for _, line in zip(texts, process.stdout, strict=False)]
        status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
        process.stdin.close()
        process.wait()
        watch.cancel()
    # Of a process that was killed or has failed nothing is left to read.
    peak = re.search(r"VmHWM:\s+(\d+) kB", status)
    return lines, int(peak[1]) / 1024 if peak else None
