"""Fail-closed answers: how to deny or block in each client's format without any other module.

If Bylaw itself fails, clients would allow everything. So the entry point, which imports almost
nothing, has these answers as constants. Tests compare them with what the adapters answer.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing `typing` is too slow here
if TYPE_CHECKING:
    from collections.abc import Mapping


DENY_EXIT_CODE = 2  # the exit code that every client accepts as a denial
TOOL = '{"hookSpecificOutput":{"hookEventName":"%s","permissionDecision":"deny","permissionDecisionReason":%s}}'  # noqa: E501 - as it is printed
BLOCK = '{"decision":"block","reason":%s}'
_CLAUDE = {
    "UserPromptSubmit": BLOCK,
    "PreToolUse": TOOL,
    "Stop": BLOCK,
    "SubagentStop": BLOCK,
}
_GEMINI = '{"decision":"deny","reason":%s}'
_COPILOT = '{"permissionDecision":"deny","permissionDecisionReason":%s}'
_CURSOR = '{"permission":"deny","user_message":%s,"agent_message":%s}'
_CURSOR_PROMPT = '{"continue":false,"user_message":%s}'
_CURSOR_STOP = '{"followup_message":%s}'

# Client → gate event → what is printed; `%s` is the event (TOOL only), then the reason.
DENIALS: Mapping[str, Mapping[str, str]] = {
    "claude": _CLAUDE,
    "codex": _CLAUDE,
    "qwen": _CLAUDE,
    "droid": _CLAUDE,
    "gemini": {"BeforeAgent": _GEMINI, "BeforeTool": _GEMINI, "AfterAgent": _GEMINI},
    "copilot": {
        "userPromptSubmitted": BLOCK,
        "preToolUse": _COPILOT,
        "agentStop": BLOCK,
        "subagentStop": BLOCK,
        **_CLAUDE,
        "PreToolUse": _COPILOT,
    },
    "opencode": {"chat.message": BLOCK, "tool.execute.before": BLOCK},
    "cursor": {
        "beforeSubmitPrompt": _CURSOR_PROMPT,
        "UserPromptSubmit": _CURSOR_PROMPT,
        "preToolUse": _CURSOR,
        "PreToolUse": _CURSOR,
        "beforeShellExecution": _CURSOR,
        "beforeMCPExecution": _CURSOR,
        "beforeReadFile": '{"permission":"deny","user_message":%s}',
        **dict.fromkeys(("stop", "Stop", "subagentStop", "SubagentStop"), _CURSOR_STOP),
    },
}
# These clients ignore the printed answer if the exit code is not 0.
EXIT_ZERO_CLIENTS = frozenset({"cursor"})
# What is printed if there is nothing to report.
EMPTY_ANSWERS = {"cursor": "{}\n", "opencode": "{}\n"}

# Clients that show a `systemMessage` to the person at any event.
_SHOW_WARNINGS = frozenset({"claude", "codex", "qwen", "droid", "gemini"})

# Seconds after which the entry point gives up. The installed hooks let the client wait longer.
PATIENCE_S = 45.0
STOP_PATIENCE_S = 585.0
END_PATIENCE_S = 2.5
STOP_NAMES = frozenset(
    {
        *("Stop", "SubagentStop", "AfterAgent", "agentStop", "subagentStop", "stop"),
        "session.idle",
    }
)
SESSION_END_NAMES = frozenset({"SessionEnd", "sessionEnd"})


# Clients that also run the hooks of Claude Code, each with a variable that it sets for hooks.
# `install/forms.py` has the same table, but is too slow to import here.
CLAUDE_HOOK_READERS = (("COPILOT_CLI", "copilot"), ("CURSOR_VERSION", "cursor"))
_CLAUDE_VARIABLE = "CLAUDECODE"
_ESCAPES = {
    "\\": "\\\\",
    '"': '\\"',
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\b": "\\b",
    "\f": "\\f",
}


def calling_client(host: str, variables: Mapping[str, str]) -> str:
    """Return the client that really runs a hook that was installed for `host`.

    Copilot CLI and Cursor also run the hooks of Claude Code, with their own payloads. If one client
    started another, the variables of both are set. Then the client is Claude Code, because all of
    them obey its denial.
    """
    if host != "claude" or variables.get(_CLAUDE_VARIABLE):
        return host
    return next((guest for name, guest in CLAUDE_HOOK_READERS if variables.get(name)), host)


def patience_s(event: str) -> float:
    """Return how many seconds an event may take."""
    if event in STOP_NAMES:
        return STOP_PATIENCE_S
    return END_PATIENCE_S if event in SESSION_END_NAMES else PATIENCE_S


def is_gate(host: str, event: str) -> bool:
    """Return whether an event is a gate. True if it has no name or the client is unknown."""
    return not event or host not in DENIALS or event in DENIALS[host]


def denial(host: str, event: str, reason: str) -> tuple[str, str, int]:
    """Return standard output, standard error and the exit code that deny or block at a gate."""
    form = DENIALS.get(host, {}).get(event)
    if form is None:
        return "", reason + "\n", DENY_EXIT_CODE
    words = quote_json(reason)
    filled = form % (event, words) if form is TOOL else form % ((words,) * form.count("%s"))
    return filled + "\n", reason + "\n", 0 if host in EXIT_ZERO_CLIENTS else DENY_EXIT_CODE


def warning(host: str, words: str) -> str:
    """Return what is printed to show a text to the person; empty if the client shows none."""
    return f'{{"systemMessage":{quote_json(words)}}}\n' if host in _SHOW_WARNINGS else ""


def quote_json(text: str) -> str:
    """Encode a text as JSON. The module `json` is too slow to import here."""
    safe = text.encode("utf-8", "replace").decode()
    return '"' + "".join(_ESCAPES.get(one) or _escape(one) for one in safe) + '"'


def _escape(one: str) -> str:
    return one if one >= " " else f"\\u{ord(one):04x}"
