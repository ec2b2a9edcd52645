"""A repository, and `bylaw hook` called in it as a client calls it: a process, bytes in and out."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from bylaw.runtime.loader import load_root
from bylaw.runtime.root import read_configuration
from bylaw.runtime.trust import trust_request
from bylaw.store.trust import save_record

COMMAND = [sys.executable, "-I", "-m", "bylaw", "hook"]
NO_SHELL = '<policy><tool name="shell"><quota per_session="0"/></tool></policy>\n'


@dataclass
class Called:
    """What a call of a hook gave."""

    stdout: bytes
    stderr: str
    code: int

    @property
    def answer(self):
        """The one JSON document on standard output."""
        return json.loads(self.stdout)

    @property
    def own(self):
        """What Claude Code reads of it."""
        return self.answer["hookSpecificOutput"]


@dataclass
class Repository:
    """A root with rules; hooks are called in it, with a home of its own."""

    root: Path
    home: Path
    variables: dict = field(default_factory=dict)

    def __post_init__(self):
        self.home.mkdir(exist_ok=True)
        self.root.mkdir(exist_ok=True)
        (self.root / "bylaw.toml").touch()

    def write(self, path, text):
        """A file below the root."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def rules(self, text):
        """Put a ChatMD book in force."""
        self.write("bylaw.toml", '[[book]]\npath = "guard.chatmd"\n')
        return self.write("guard.chatmd", text)

    @property
    def environment(self):
        """As a client would hand it on."""
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        return {**kept, "HOME": str(self.home), "BYLAW_RESIDENT": "0", **self.variables}

    def payload(self, event, session="s", **fields):
        """What Claude Code sends."""
        about = {"session_id": session, "cwd": str(self.root), "hook_event_name": event}
        return json.dumps({**about, **fields}).encode()

    def trust(self, monkeypatch):
        """As a person does who has seen what can be started."""
        for name, value in {"HOME": str(self.home), "XDG_STATE_HOME": ""}.items():
            monkeypatch.setenv(name, value)
        root, configuration = str(self.root), read_configuration(str(self.root))
        save_record(root, trust_request(load_root(root), configuration).granted(root, "today"))

    def raw(self, *arguments, data=b"", command=COMMAND, timeout=300):
        """Call it with any bytes."""
        done = subprocess.run(
            [*command, *arguments],
            input=data,
            capture_output=True,
            cwd=self.root,
            env=self.environment,
            timeout=timeout,
            check=False,
        )
        return Called(done.stdout, done.stderr.decode(), done.returncode)

    def call(self, event, session="s", **fields):
        """Call it as Claude Code does."""
        return self.raw("claude", event, data=self.payload(event, session, **fields))

    def shell(self, command, call="c1", session="s"):
        """The hook before a shell command."""
        about = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": call}
        return self.call("PreToolUse", session, **about)

    def stop(self, text="Done.", session="s", *, again=False):
        """The hook at a stop."""
        about = {"stop_hook_active": again, "last_assistant_message": text}
        return self.call("Stop", session, **about)
