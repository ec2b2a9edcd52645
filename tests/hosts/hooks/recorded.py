"""Payloads that were recorded from real clients, as their adapters are called with them."""

import json
from dataclasses import dataclass
from pathlib import Path

from bylaw.hosts.clients import load_adapter

DATA = Path(__file__).parent.parent.parent / "data"
FOLDERS = (DATA / "captures", DATA / "hooks" / "captures")
HOSTS = {
    "claude-agent-sdk": "claude",
    "claude-code": "claude",
    "codex": "codex",
    "copilot-cli": "copilot",
    "cursor": "cursor",
    "factory-droid": "droid",
    "gemini-cli": "gemini",
    "opencode": "opencode",
    "qwen-code": "qwen",
}


@dataclass(frozen=True)
class Recorded:
    """One payload; `name` is that of its file below the folder."""

    name: str
    host: str
    event: str
    payload: dict

    @property
    def adapter(self):
        """That of its client."""
        return load_adapter(self.host)

    @property
    def process_notices(self):
        """What the adapter reads."""
        return self.adapter.read(self.event, self.payload)


def recorded():
    """All payloads; the plugin's own hooks of OpenCode are not what we are sent."""
    for folder in FOLDERS:
        for file in sorted(folder.rglob("*/*.json")):
            found = json.loads(file.read_text(encoding="utf-8"))
            if found.get("transport") != "in-process" or found["client"] == "claude-agent-sdk":
                event = found["event"].removeprefix("http-")
                event = found["payload"].get("hook_event_name", event)
                if found["client"] == "copilot-cli":
                    event = found["event"]  # a notification calls itself by the other name
                if file.name.startswith("via-claude"):
                    event = found["payload"]["hook_event_name"]
                name = f"{file.parent.name}/{file.stem}"
                yield Recorded(name, HOSTS[file.parent.name], event, found["payload"])
