"""How a gate is closed in each client's own words, without asking anybody.

When Bylaw itself fails, clients would let everything pass. So the front end, which imports next to
nothing, knows these words by heart. Tests compare them with what the adapters say.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` is heavy here, and type checkers know this name
if TYPE_CHECKING:
    from collections.abc import Mapping

REFUSED = 2  # the exit code that every client takes for a refusal
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

# Client → event that is a gate → what is printed; `%s` is the event (TOOL only), then the reason.
CLOSED_WORDS: Mapping[str, Mapping[str, str]] = {
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
# Where a client takes an exit code for more than a refusal, it is 0: the words decide.
BY_WORDS_ALONE = frozenset({"cursor"})
# What is printed where there is nothing to say.
SILENCE = {"cursor": "{}\n", "opencode": "{}\n"}

# Clients that show such a message to the person, whatever else happens.
_WARNS = frozenset({"claude", "codex", "qwen", "droid", "gemini"})

# Seconds after which the front end gives up; the client is told to wait longer than that.
PATIENCE_S = 45.0
STOP_PATIENCE_S = 585.0
END_PATIENCE_S = 2.5
STOP_NAMES = frozenset(
    {
        *("Stop", "SubagentStop", "AfterAgent", "agentStop", "subagentStop", "stop"),
        "session.idle",
    }
)
ENDS = frozenset({"SessionEnd", "sessionEnd"})


# Clients that load what is installed for Claude Code, by a variable that they set for hooks; the
# same stands in `install/clients.py`, which is heavy here.
GUESTS = (("COPILOT_CLI", "copilot"), ("CURSOR_VERSION", "cursor"))
_HOST = "CLAUDECODE"
_ESCAPES = {
    "\\": "\\\\",
    '"': '\\"',
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\b": "\\b",
    "\f": "\\f",
}


def client_behind(host: str, variables: Mapping[str, str]) -> str:
    """Who really calls a hook that is installed for `host`.

    Copilot CLI and Cursor also start the hooks of Claude Code, with payloads of their own. Where
    one client was started by another, both variables are there; then it stays Claude Code, whose
    refusal holds in all of them.
    """
    if host != "claude" or variables.get(_HOST):
        return host
    return next((guest for name, guest in GUESTS if variables.get(name)), host)


def patience_s(event: str) -> float:
    """How long an event may take."""
    if event in STOP_NAMES:
        return STOP_PATIENCE_S
    return END_PATIENCE_S if event in ENDS else PATIENCE_S


def is_gate(host: str, event: str) -> bool:
    """Whether something can be held up; what nobody knows may be a gate."""
    return not event or host not in CLOSED_WORDS or event in CLOSED_WORDS[host]


def closed(host: str, event: str, reason: str) -> tuple[str, str, int]:
    """What is printed on both outputs, and the exit code, to close a gate."""
    form = CLOSED_WORDS.get(host, {}).get(event)
    if form is None:
        return "", reason + "\n", REFUSED
    words = quoted(reason)
    filled = form % (event, words) if form is TOOL else form % ((words,) * form.count("%s"))
    return filled + "\n", reason + "\n", 0 if host in BY_WORDS_ALONE else REFUSED


def warned(host: str, words: str) -> str:
    """What is printed so that the person reads it; empty if the client has no such words."""
    return f'{{"systemMessage":{quoted(words)}}}\n' if host in _WARNS else ""


def quoted(text: str) -> str:
    """A text as JSON; `json` is heavy here."""
    safe = text.encode("utf-8", "replace").decode()
    return '"' + "".join(_ESCAPES.get(one) or _visible(one) for one in safe) + '"'


def _visible(one: str) -> str:
    return one if one >= " " else f"\\u{ord(one):04x}"
