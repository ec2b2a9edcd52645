"""A repository under law in which real orchestrators run as processes, and what they leave."""

import json
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing, contextmanager, suppress
from pathlib import Path

BYLAW = [sys.executable, "-m", "bylaw"]
# Bylaw that learns of changes only by watching: it never checks by itself.
ONLY_WATCHING = """
import runpy, sys
from bylaw.hosts.bus import orchestrator
from bylaw.hosts.bus.watcher import watcher
orchestrator.CHECK_PEERS_S = watcher.SWEEP_AFTER_S = watcher.SWEEP_EVERY_S = 3600.0
sys.argv[0] = "bylaw"
runpy.run_module("bylaw", run_name="__main__", alter_sys=True)
"""
MOMENT = "20240116_120000"
CONTEXT = """\
# Shared context

**Active Phase**: `2`

## Active Approvals

"""

# A command that notes that it ran: one write, so that none is lost among several at once.
NOTE = """\
import os, sys, time
with open("ran", "ab", 0) as ran:
    ran.write(sys.argv[1].encode() + b"\\n")
time.sleep(float(sys.argv[2]) if len(sys.argv) > 2 else 0)
"""
# A command with a child and a grandchild, all of which sleep, and say first that they are there.
FAMILY = """\
import os, time
any(os.fork() for _ in range(2))
with open("family", "ab", 0) as family:
    family.write(b"x")
time.sleep(600)
"""


def message_id(slug):
    return f"{MOMENT}_tester_{slug}"


def rule(rule_id, priority, actions, *, category="A", more="", on_error=""):
    """A rule about messages; `actions` and `on_error` are lines of YAML."""
    lines = "\n".join(f"      - {one}" for one in actions)
    errors = "".join(f"\n      - {one}" for one in on_error)
    return f"""\
  - rule_id: {rule_id}
    priority: {priority}
    trigger:
      kind: bus_input
      match: {{paths: ["{rule_id}/**"], command_types: [exec]}}
    guards:
      category_in: [{category}]
{more}    actions:
{lines}
""" + (f"    on_error:{errors}\n" if on_error else "")


def rules(*written):
    return 'dsl_version: "0.1"\nrules:\n' + "".join(written)


SINGLE = "      approval: {mode: single, authorities: [human, antigravity]}\n"
DUAL = "      approval: {mode: dual, authorities: [human, antigravity]}\n"
TELL = '{type: write_bus, channel: output, template: "done {{msg_id}}"}'
TELL_ERROR = '{type: write_bus, channel: error, template: "failed {{msg_id}}: {{error}}"}'


def take(key):
    return f"{{type: write_processing_lock, lock_key: {key}}}"


def give(key):
    return f"{{type: release_lock, lock_key: {key}}}"


def run(command, seconds=30, cwd="work"):
    return f"{{type: run_cmd, cmd: {json.dumps(command)}, cwd: {cwd}, timeout_sec: {seconds}}}"


class Repository:
    """One root."""

    def __init__(self, root, said=None):
        self.root = root
        self._said = said or root
        self.bus = root / "runtime/bus"
        for folder in ("work", "runtime/rules", "runtime/approvals", "runtime/bus/input"):
            (root / folder).mkdir(parents=True)
        (root / "bylaw.toml").write_text('[command]\nroots = ["work"]\n')
        self.context()
        (root / "work/note.py").write_text(NOTE)
        (root / "work/family.py").write_text(FAMILY)

    def context(self, *lines):
        new = self.root / ".context"
        new.write_text(CONTEXT + "".join(f"{line}\n" for line in lines))
        new.rename(self.root / "SHARED_CONTEXT.md")

    def rules(self, *written, file="10.yaml"):
        (self.root / "runtime/rules" / file).write_text(rules(*written))

    def put(self, slug, about, category="A", *, hidden=False, **more):
        """A message for the rule of this name; one that is hidden waits for `unhide`."""
        msg_id = message_id(slug)
        message = {
            "msg_id": msg_id, "msg_type": "command", "command_type": "exec", "phase": 2,
            "category": category, "title": "t", "target_paths": [f"{about}/x"],
            "origin_ref": "none", "created_by": "tester", "notes": "n", **more,
        }  # fmt: skip
        new = self.root / f".{slug}"
        new.write_text(json.dumps(message))
        name = f".{slug}.json" if hidden else f"{slug}.json"
        new.rename(self.bus / "input" / name)
        return msg_id

    def unhide(self):
        for path in self.bus.joinpath("input").glob(".*.json"):
            path.rename(path.with_name(path.name[1:]))

    def token(self, msg_id, text="Approved", authority="human"):
        new = self.root / ".token"
        new.write_text(f"{text}\n")
        path = self.root / "runtime/approvals" / f"{msg_id}.{authority}"
        new.rename(path)
        return path

    def names(self, folder):
        path = self.bus / folder
        names = sorted(one.name for one in path.iterdir()) if path.is_dir() else []
        return [name for name in names if not name.startswith(".")]

    def evidence(self, *channels):
        """Every evidence, in the order of the names."""
        return [
            json.loads((self.bus / channel / name).read_text())
            for channel in channels or ("output", "error")
            for name in self.names(channel)
        ]

    def evidence_of(self, msg_id, *channels):
        return [one for one in self.evidence(*channels) if one.get("msg_id") == msg_id]

    def told(self):
        """How much evidence there is of each message."""
        return Counter(
            name.split(".")[0] for channel in ("output", "error") for name in self.names(channel)
        )

    def ran(self):
        """How often the command of each message ran."""
        path = self.root / "work/ran"
        return Counter(path.read_text().split()) if path.exists() else Counter()

    def family(self):
        """How many processes of a family said that they are there."""
        path = self.root / "work/family"
        return len(path.read_text()) if path.exists() else 0

    def locks(self):
        folder = self.root / "runtime/locks"
        return sorted(one.name for one in folder.glob("*.lock")) if folder.is_dir() else []

    def states(self):
        """How many messages the ledger has in each state."""
        ledger = sqlite3.connect(self.root / ".bylaw/state/bus.db")
        try:
            return dict(ledger.execute("SELECT state, count(*) FROM messages GROUP BY state"))
        finally:
            ledger.close()

    def open_plans(self):
        journal = sqlite3.connect(self.root / ".bylaw/state/journal.db")
        try:
            return journal.execute("SELECT * FROM open_plans").fetchall()
        finally:
            journal.close()

    def start(self, *words, trust=True, **more):
        words = [*words, *(["--trust"] if trust else [])]
        return Orchestrator(self.root, words, self._said, **more)

    def once(self, *words, **more):
        """One pass to its end."""
        with self.start("--once", *words, **more) as running:
            return running.ended()

    def is_quiet(self):
        """Whether nothing lies there any more that somebody should handle."""
        return not self.names("input") and not self.names("processing")


class Orchestrator:
    """One `bylaw bus run`; what it says goes to files, so that it never has to wait for us."""

    def __init__(self, root, words, said, only_watching=False, **more):
        self._said, self._noted = said_in(said)
        command = [sys.executable, "-c", ONLY_WATCHING] if only_watching else BYLAW
        with self._said.open("wb") as out, self._noted.open("wb") as err:
            self.process = subprocess.Popen(
                [*command, "bus", "run", "--root", str(root), *words],
                stdin=subprocess.DEVNULL, stdout=out, stderr=err, **more,
            )  # fmt: skip

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    @property
    def lines(self):
        """What was handled."""
        text = self._said.read_text()
        return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]

    @property
    def notes(self):
        return self._noted.read_text()

    def kill(self):
        self.process.kill()
        self.process.wait(300)

    def end(self, number=signal.SIGTERM, seconds=300):
        """End it in good order; its exit code."""
        self.process.send_signal(number)
        return self.ended(seconds)

    def ended(self, seconds=300):
        return self.process.wait(seconds)

    def until(self, true, seconds=300):
        """Wait until something is so while this runs."""
        begun = time.monotonic()
        while not true():
            assert self.process.poll() is None, self.notes
            assert time.monotonic() - begun < seconds, (self.notes, self.lines[-3:])
            time.sleep(0.01)


def said_in(root):
    """Beside the root, where nobody watches: files for both outputs of a process."""
    stem = f"{root}.{time.monotonic_ns()}"
    return Path(f"{stem}.said"), Path(f"{stem}.noted")


def is_known(path):
    """Whether the watcher has kept what lies there: it sets the version last."""
    if not path.exists():
        return False
    with suppress(sqlite3.OperationalError), closing(sqlite3.connect(path)) as database:
        return database.execute("PRAGMA user_version").fetchone() != (0,)
    return False


@contextmanager
def all_of(*running):
    try:
        yield running
    finally:
        for one in running:
            one.kill()


def processes_with(marker):
    """The processes whose arguments name this, by the numbers that we know them by."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                if marker.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
    return found
