"""The plugin for OpenCode in a process of its own: which session its events are of."""

import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "hosts/hooks"))

from called_hooks import COMMAND, Repository

BYLAW = COMMAND[:-1]
PLUGIN = files("bylaw.hosts.hooks.install") / "opencode_plugin.js"
NODE = Path(__file__).resolve().parents[2] / ".venv/clients/bin/node"
# The client's answers have the form of `@opencode-ai/sdk`: `{data}`, or `{error}` without throwing.
DRIVER = """
import { Bylaw } from "./plugin.mjs"
const [sessions, created, calls, python] = JSON.parse(process.argv[2])
const get = async ({ path: { id } }) => {
  if (sessions === null) throw new Error("no server")
  return sessions[id] ? { data: { id, ...sessions[id] } } : { error: { name: "NotFoundError" } }
}
const quiet = async () => {}
const client = { session: { get }, app: { log: quiet }, tui: { showToast: quiet } }
const plugin = await Bylaw({ client, directory: process.cwd() }, { python })
for (const info of created) {
  await plugin.event({ event: { type: "session.created", properties: { info } } })
}
for (const [number, sessionID] of calls.entries()) {
  const call = { tool: "bash", sessionID, callID: `c${number}` }
  await plugin["tool.execute.before"](call, { args: { command: "ls" } }).catch(() => {})
}
"""


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path / "root", tmp_path / "home")


def calls_of(repository, *calls, sessions=None, created=()):
    """Session and agent of each call, as they were recorded; `sessions` are those of the client."""
    folder = repository.root.parent
    (folder / "plugin.mjs").write_text(PLUGIN.read_text())
    (folder / "driver.mjs").write_text(DRIVER)
    given = json.dumps([sessions, created, calls, sys.executable])
    subprocess.run(
        [NODE, str(folder / "driver.mjs"), given],
        cwd=repository.root,
        env=repository.environment,
        check=True,
        timeout=60,
    )
    log = repository.raw("log", "--format", "json", command=BYLAW)
    found = [json.loads(line) for line in log.stdout.splitlines()]
    events = [one["event"] for one in found if one["kind"] == "tool.before"]
    return [(one["session"].removeprefix("opencode:"), one.get("agent", "")) for one in events]


def test_a_subagent_that_began_in_another_process_is_of_its_session(repository):
    sessions = {"main": {}, "sub": {"parentID": "main"}, "deeper": {"parentID": "sub"}}

    found = calls_of(repository, "sub", "main", "deeper", sessions=sessions)

    assert found == [("main", "sub"), ("main", ""), ("main", "deeper")]


def test_one_that_begins_here_need_not_be_asked_for(repository):
    created = [{"id": "main"}, {"id": "sub", "parentID": "main"}]

    assert calls_of(repository, "sub", "main", created=created) == [("main", "sub"), ("main", "")]


@pytest.mark.parametrize("sessions", [None, {}, {"sub": {"parentID": None}}])
def test_one_that_the_client_does_not_tell_of_is_its_own(repository, sessions):
    assert calls_of(repository, "sub", sessions=sessions) == [("sub", "")]
