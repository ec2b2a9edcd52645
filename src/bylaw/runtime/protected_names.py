"""The names that are protected from agents wherever they lie, and why.

A folder below the root, or the home of the user, can be the root of the next session. Names are
compared without regard to case: on some systems they are the same.
"""

from __future__ import annotations

from bylaw.runtime.configuration import CONFIGURATION
from bylaw.runtime.policy_settings import CONFIG as POLICY_CONFIG
from bylaw.runtime.policy_settings import TRANSIENT
from bylaw.runtime.state_folder import OURS

GIT = ".git"

BELONGS_TO_US = "it belongs to Bylaw"
HOLDS_SETTINGS = "it holds the settings of Bylaw"
HOLDS_HOOKS = "it holds the hooks of a coding agent"
DECIDES_GIT = "it decides what git does"
OF_POLICIES = "it belongs to file policies"

# Where coding agents keep their hooks: of a project, of a user, or of any folder that can be one.
HOOK_FILES = (
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude/hooks",
    ".codex/hooks.json",
    ".codex/config.toml",
    ".gemini/settings.json",
    ".gemini/hooks",
    ".gemini/extensions",
    ".qwen/settings.json",
    ".qwen/hooks",
    ".qwen/extensions",
    ".github/hooks",
    ".github/copilot/settings.json",
    ".github/copilot/settings.local.json",
    ".copilot/hooks",
    ".copilot/config.json",
    ".copilot/settings.json",
    ".factory/settings.json",
    ".factory/settings.local.json",
    ".factory/hooks.json",
    ".factory/hooks",
    ".cursor/hooks.json",
    ".cursor/hooks",
    "opencode.json",
    "opencode.jsonc",
    ".opencode/plugin",
    ".opencode/plugins",
    ".config/opencode/plugin",
    ".config/opencode/plugins",
)
# Variables that say where else such a folder lies, and what it is called otherwise.
MOVED = {
    "CLAUDE_CONFIG_DIR": ".claude",
    "CODEX_HOME": ".codex",
    "QWEN_HOME": ".qwen",
    "COPILOT_HOME": ".copilot",
    "OPENCODE_CONFIG_DIR": ".opencode",
    "XDG_CONFIG_HOME": ".config",
}
# What decides what git runs and what it sees; the rest of its folder is its daily work.
GIT_SWITCHES = frozenset({"hooks", "config", "config.worktree", "info", "commondir", "gitdir"})

ANYWHERE: tuple[tuple[str, str], ...] = (
    (OURS, BELONGS_TO_US),
    (CONFIGURATION, HOLDS_SETTINGS),
    (TRANSIENT, OF_POLICIES),
    (POLICY_CONFIG, OF_POLICIES),
    *((one, HOLDS_HOOKS) for one in HOOK_FILES),
)
_TAILS = tuple((tuple(name.casefold().split("/")), why) for name, why in ANYWHERE)


def protected_by_name(path: str) -> str | None:
    """Why a path is protected wherever it lies, None if it is not."""
    parts = path.casefold().split("/")
    for tail, why in _TAILS:
        size = len(tail)
        if any(tuple(parts[at : at + size]) == tail for at in range(len(parts) - size + 1)):
            return why
    if GIT in parts:
        behind = parts[parts.index(GIT) + 1 :]
        if not any(behind) or GIT_SWITCHES.intersection(behind):
            return DECIDES_GIT
    return None
