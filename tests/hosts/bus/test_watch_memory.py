"""How much memory a watched file takes, at rest and at most, in a process of its own."""

import json
import subprocess
import sys

FILES = 50_000
MEASURE = """
import json, sys
from bylaw.hosts.bus.watcher.watcher import FileWatcher
def of(field):
    with open("/proc/self/status") as stream:
        return next(int(line.split()[1]) * 1024 for line in stream if line.startswith(field))
root, store = sys.argv[1:]
before = of("VmRSS")
watcher = FileWatcher(root, [], store)
changes = len(watcher.start())
watcher.acknowledge()
print(json.dumps({"changes": changes, "rest": of("VmRSS") - before, "peak": of("VmHWM") - before}))
watcher.close()
"""


def measured(root, store):
    command = [sys.executable, "-c", MEASURE, str(root), str(store)]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


def test_a_watched_file_takes_less_than_a_kibibyte(tmp_path):
    for number in range(FILES // 100):
        folder = tmp_path / f"root/a-folder-{number % 10}/another-{number}"
        folder.mkdir(parents=True)
        for name in range(100):
            (folder / f"a_name_of_usual_length_{name}.py").touch()
    for start in ("first", "second"):
        found = measured(tmp_path / "root", tmp_path / "watch.db")
        assert found["changes"] == 0, start
        assert found["rest"] / FILES < 1024, start
        assert found["peak"] / FILES < 1024, start
