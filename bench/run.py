"""Runs every benchmark of this folder and prints one report; exits 1 past a budget."""

from __future__ import annotations

import os
import platform
import sys

import bus
import chat
import chatmd_parse
import context
import decide
import guards
import hooks
import load
import lua
import patterns
import policies
import start
import submit
import toml_decide
import watcher
from install_peers import PEERS, missing_peers, pins
from table import WIDTH, Row, format_table

SECTIONS = {
    "guards of one bucket": guards.run,
    "decide": decide.run,
    "TOML rules": toml_decide.run,
    "path patterns": patterns.run,
    "ChatMD text": chatmd_parse.run,
    "context language": context.run,
    "Lua conditions": lua.run,
    "journal": submit.run,
    "chats": chat.run,
    "watching files": watcher.run,
    "bus": bus.run,
    "file policies": policies.run,
    "hooks": hooks.run,
    "load": load.run,
    "start": start.run,
}


def main() -> int:
    """Print the tables, what is missing and what is past its budget."""
    machine = f"{platform.machine()}, {os.cpu_count()} cores"
    print(f"Python {platform.python_version()}, {platform.system()} {machine}\n")
    rows: list[Row] = []
    for title, run in SECTIONS.items():
        section = run()
        print(format_table(title, section), end="\n\n", flush=True)
        rows += section
    return _summary(rows)


def _summary(rows: list[Row]) -> int:
    print("=" * WIDTH)
    wanted = pins(PEERS)
    for name, found in missing_peers().items():
        print(f"not measured as pinned: {name} {wanted[name]} ({found})")
    missed = [row for row in rows if not row.ok]
    for row in missed:
        print(f"past its budget: {row.name}")
    checked = sum(row.budget is not None for row in rows)
    print(f"{checked - len(missed)} of {checked} budgets kept")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
