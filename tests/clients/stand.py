"""A stand: one real client with a home, a repository and our hooks in it, and what it does there."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from bylaw.hosts.clients import load_trial_client
from bylaw.hosts.clients.base import TrialPlace, Turn
from bylaw.hosts.hooks.canary import ClientRun, run_client
from bylaw.hosts.hooks.fake_model import FakeModel, fake_model

DONE = Turn("That is all.")
WHO = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a",
       "GIT_COMMITTER_EMAIL": "a@b", "GIT_CONFIG_NOSYSTEM": "1"}  # fmt: skip


@dataclass
class Run:
    """One run of a client: what the model was asked, what the client printed."""

    model: FakeModel
    ran: ClientRun

    def told(self, text):
        """Whether a text reached the model."""
        return self.model.has_received(text)

    @property
    def rounds(self):
        """How often the model was asked to go on."""
        return sum(1 for asked in self.model.asked if asked.tools)

    def __str__(self):
        """What a failed assertion shows."""
        ran = f"exit {self.ran.exit_code} after {self.ran.seconds:.1f} s"
        last = str(self.model.asked[-1].conversation)[-4000:] if self.model.asked else "nothing"
        return f"{ran}, asked {self.rounds} times\n--- printed\n{self.ran.output[-3000:]}\n--- last asked\n{last}"


class Stand:
    """`state` is where Bylaw keeps things for the user; all stands share it, and so one resident."""

    def __init__(self, host, folder, state):
        self.client = load_trial_client(host)
        self.root, self.home = folder / "the repository", folder / "home"
        self.root.mkdir()
        self.home.mkdir()
        self.variables = {"XDG_STATE_HOME": str(state), "BYLAW_RESIDENT": "1"}
        self.git("init", "-q", "-b", "main")
        self.write("README.md", "# A project\n")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "x")

    @property
    def environment(self):
        """What programs of the person see."""
        return {**WHO, **self.variables, "HOME": str(self.home), "PATH": os.environ["PATH"]}

    def git(self, *words):
        """Run git as a person does."""
        subprocess.run(["git", *words], cwd=self.root, env=self.environment, check=True)

    def bylaw(self, *words):
        """Run bylaw as a person does."""
        return subprocess.run(
            [sys.executable, "-I", "-m", "bylaw", *words],
            cwd=self.root, env=self.environment, capture_output=True, text=True, check=False,
        )  # fmt: skip

    def install(self):
        """Have our hooks put into the client's configuration."""
        done = self.bylaw("install", self.client.host, "--project", "--yes")
        assert done.returncode == 0, done.stdout + done.stderr

    def write(self, path, text):
        """A file below the root."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def chatmd(self, text):
        """Put a ChatMD book in force."""
        self.write("bylaw.toml", '[[book]]\npath = "guard.chatmd"\n')
        self.write("guard.chatmd", text)

    def has(self, path):
        """Whether a file is there."""
        return Path(self.root, path).exists()

    def shell(self, command, text=""):
        """A turn in which the model wants a command run."""
        return Turn(text, (self.client.shell(command),))

    def run(self, *turns, prompt="do it", again=False):
        """Run the client to its end while the model says these turns."""
        with fake_model([*turns, DONE]) as model:
            place = TrialPlace(home=str(self.home), repository=str(self.root), url=model.url)
            ran = run_client(self.client, place, prompt, self.variables, again=again)
        result = Run(model, ran)
        assert ran.exit_code is not None, str(result)
        return result
