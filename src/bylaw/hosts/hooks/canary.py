"""Test with a harmless command whether real clients obey Bylaw's hooks, on this machine alone.

In a temporary folder, a rule denies one command. The fake model asks the client to run it. Of the
person's own setup, only the client's program is used: the client sees its own home and a few
variables, but no account, key or session. `bylaw doctor --canary` and tests use this.
"""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.hosts.clients import TESTABLE, load_trial_client
from bylaw.hosts.clients.base import TrialPlace, Turn
from bylaw.hosts.hooks.fake_model import fake_model
from bylaw.hosts.hooks.install.config_file import Scope, find_config_file
from bylaw.hosts.hooks.install.detect import (
    NoProgramError,
    environment_for,
    find_program,
    find_programs,
    read_until_exit,
)
from bylaw.hosts.hooks.install.entries import with_entries
from bylaw.hosts.hooks.install.forms import CLIENTS, interpreter
from bylaw.model.source import SourceFile
from bylaw.model.vocabulary import Kind, Verdict
from bylaw.runtime.effects import TITLES
from bylaw.runtime.root import CONFIGURATION
from bylaw.runtime.sandbox.command import ERRORS_ARE_OUTPUT, Process
from bylaw.runtime.settings import JournalSettings
from bylaw.store.files import os_error_text
from bylaw.store.journal.errors import JournalError
from bylaw.store.journal.search import JournalReader

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bylaw.hosts.clients.base import TrialClient

RUN_SECONDS = 180.0


class ClientRun(Struct, frozen=True):
    """What a client printed, its exit code (None if it was killed) and how long it took."""

    output: str
    exit_code: int | None
    seconds: float


def run_client(
    client: TrialClient,
    place: TrialPlace,
    prompt: str,
    variables: Mapping[str, str],
    *,
    again: bool = False,
) -> ClientRun:
    """Run a client until it exits. With `again` it continues its last session."""
    for path, text in client.files(place).items():
        file = Path(place.home, path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    program = find_program(client.program)
    words = (*client.verb, *(client.again if again else ()), *client.options)
    seen = {**environment_for(program, place.home), **client.variables(place), **variables}
    begun = time.monotonic()
    process = Process(
        [program, *words, prompt], errors=ERRORS_ARE_OUTPUT, variables=seen, cwd=place.repository
    )
    try:
        process.hang_up()
        output, code = read_until_exit(process, begun + RUN_SECONDS)
    finally:
        process.kill()
    return ClientRun(output.decode("utf-8", "replace"), code, time.monotonic() - begun)


REASON = "denied by the canary rule of Bylaw"
_MARKER_FILE = "canary-command-ran"
_RULES = f"""\
<rules>
  <on id="canary" event="pre_tool_call" tool="shell">
    <deny reason="{REASON}"/>
  </on>
</rules>
"""
_SETTINGS = '[[book]]\npath = "canary.chatmd"\n'
_PROMPT = "run the canary command"


class Trial(Struct, frozen=True):
    """What was seen: a hook denied the call, the command did not run, the model read the reason."""

    fired: bool
    obeyed: bool
    reached: bool
    ran: ClientRun

    @property
    def holds(self) -> bool:
        """Whether rules control this client."""
        return self.fired and self.obeyed and self.reached


def try_client(client: TrialClient) -> Trial:
    """Start the real client. Raises NoProgramError if it is not installed."""
    with TemporaryDirectory(prefix="bylaw-canary-", ignore_cleanup_errors=True) as folder:
        home, root = Path(folder, "home"), Path(folder, "repository")
        home.mkdir()
        root.mkdir()
        Path(root, CONFIGURATION).write_text(_SETTINGS)
        Path(root, "canary.chatmd").write_text(_RULES)
        write_hooks(client.host, str(root))
        wanted = Turn("", (client.shell(f"touch {_MARKER_FILE}"),))
        with fake_model([wanted]) as model:
            place = TrialPlace(home=str(home), repository=str(root), url=model.url)
            ran = run_client(client, place, _PROMPT, {})
        flown = Path(root, _MARKER_FILE).exists()
        # If the client never received the call, it did not obey a denial.
        obeyed = not flown and not model.turns
        return Trial(_has_denied(root), obeyed, model.has_received(REASON), ran)


def write_hooks(host: str, root: str) -> None:
    """Write Bylaw's hooks into the configuration of an empty project."""
    client = CLIENTS[host]
    file = find_config_file(client, Scope.PROJECT, root)
    text = with_entries(SourceFile(file.shown, "{}\n"), client.wanted_entries(interpreter()))
    place = Path(file.location)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)


def _has_denied(root: Path) -> bool:
    question = "SELECT 1 FROM records WHERE kind = ? AND verdict = ? LIMIT 1"
    denied = (Kind.TOOL_BEFORE.value, Verdict.DENY.value)
    try:
        with JournalReader(str(root / JournalSettings().path)) as reader:
            return bool(reader.query(question, denied))
    except JournalError:
        return False  # no hook was called


class TrialResult(Struct, frozen=True):
    """The result for one client. If it was not tested, `trial` is None and `why` is the reason."""

    host: str
    version: str = ""
    trial: Trial | None = None
    why: str = ""

    @property
    def title(self) -> str:
        """The name that people know."""
        return TITLES[self.host]

    @property
    def ending(self) -> str:
        """How the client exited, as text."""
        code = self.trial.ran.exit_code if self.trial else None
        return "killed after the time limit" if code is None else f"exit code {code}"


def try_clients(hosts: Sequence[str], tell: Callable[[str], None]) -> list[TrialResult]:
    """Test the clients one after the other. `tell` receives texts about the progress."""
    tell("reading the versions of clients")
    programs = find_programs(CLIENTS[host] for host in hosts)
    versions = {host: one.version for host, one in programs.items()}
    found = []
    for host in hosts:
        tell(f"testing {TITLES[host]}")
        found.append(_try_one(host, versions.get(host, "")))
    return found


def _try_one(host: str, version: str) -> TrialResult:
    if host not in TESTABLE:
        return TrialResult(host, version, why="cannot be tested: it needs a server of its own")
    try:
        return TrialResult(host, version, try_client(load_trial_client(host)))
    except NoProgramError as missing:
        return TrialResult(host, version, why=f"not installed: {missing}")
    except OSError as wrong:
        return TrialResult(host, version, why=f"cannot be started: {os_error_text(wrong)}")
