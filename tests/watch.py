"""Run a command and write down how it ended: `watch.py SECONDS REPORT COMMAND…`.

The report has the seconds that the command worked. Waiting for other processes does not count.

A process of its own, because the peak memory that Linux tells of a child is at least that of the
process that started it, and a process that runs tests is large.
"""

import json
import os
import subprocess
import sys
import time

seconds, report, *command = sys.argv[1:]
begin = time.monotonic()
process = subprocess.Popen(command)
found = (0, 0, None)
while not found[0] and time.monotonic() - begin < float(seconds):
    found = os.wait4(process.pid, os.WNOHANG)
    time.sleep(0.01)
if not found[0]:
    process.kill()
    found = os.wait4(process.pid, 0)
_, status, usage = found
process.returncode = os.waitstatus_to_exitcode(status)
with open(report, "w", encoding="utf-8") as file:  # noqa: PTH123 - pathlib takes longer to import
    json.dump(
        {
            "code": process.returncode,
            "mebibytes": usage.ru_maxrss / 1024,
            "seconds": usage.ru_utime + usage.ru_stime,
        },
        file,
    )
