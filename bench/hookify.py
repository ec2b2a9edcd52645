"""A hook as people write it by hand: rules as Markdown with a head, read and matched by a script.

It is started once for each tool call, reads all rules, and denies what one of them matches. It
keeps no record, knows no session and checks nothing of what it reads.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path


def main() -> int:
    """Deny the call on standard input if a rule of `.claude` matches it."""
    payload = json.load(sys.stdin)
    command = payload.get("tool_input", {}).get("command", "")
    for path in sorted(Path(payload["cwd"], ".claude").glob("hookify.*.local.md")):
        head, _, body = path.read_text().removeprefix("---\n").partition("\n---\n")
        rule = dict(line.split(": ", 1) for line in head.splitlines())
        if rule["enabled"] == "true" and re.search(rule["pattern"], command):
            print(_denied(body))
            return 0
    return 0


def _denied(reason: str) -> str:
    decision = {"permissionDecision": "deny", "permissionDecisionReason": reason}
    return json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", **decision}})


if __name__ == "__main__":
    sys.exit(main())
