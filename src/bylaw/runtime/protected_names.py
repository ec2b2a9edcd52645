"""Names that are protected from agents in every folder, and why.

A folder below the root, or the home of the user, can be the root of the next session. Names are
compared without regard to case, because some file systems do not distinguish it.
"""

from __future__ import annotations

from bylaw.runtime.client_places import PLACES
from bylaw.runtime.configuration import CONFIGURATION
from bylaw.runtime.paths import lies_in
from bylaw.runtime.policy_settings import CONFIG as POLICY_CONFIG
from bylaw.runtime.policy_settings import TRANSIENT
from bylaw.runtime.state_folder import OURS

GIT = ".git"

BELONGS_TO_US = "it belongs to Bylaw"
HOLDS_SETTINGS = "it contains settings of Bylaw"
HOLDS_HOOKS = "it contains hooks of a coding agent"
DECIDES_GIT = "it controls what git does"
OF_POLICIES = "it belongs to file policies"

# Where coding agents keep their hooks: in a project or below the home of a user.
_PLACED = dict.fromkeys(
    name
    for client in PLACES.values()
    for name in (*client.in_project(), *(f"{client.home}/{one}" for one in client.of_user()))
)
HOOK_FILES = tuple(
    one for one in _PLACED if not any(lies_in(one, other) for other in _PLACED if other != one)
)
# The parts of `.git` that control what git runs and sees. The rest of `.git`, and of `info`, is
# changed by normal git commands.
INFO = "info"
GIT_SWITCHES = frozenset({"hooks", "config", "config.worktree", INFO, "commondir", "gitdir"})
DECIDES_IN_INFO = tuple(
    f"{INFO}/{one}" for one in ("attributes", "exclude", "grafts", "sparse-checkout")
)

ANYWHERE: tuple[tuple[str, str], ...] = (
    (OURS, BELONGS_TO_US),
    (CONFIGURATION, HOLDS_SETTINGS),
    (TRANSIENT, OF_POLICIES),
    (POLICY_CONFIG, OF_POLICIES),
    *((one, HOLDS_HOOKS) for one in HOOK_FILES),
)
_TAILS = tuple((tuple(name.casefold().split("/")), why) for name, why in ANYWHERE)


def protected_by_name(path: str) -> str | None:
    """Return why a path is protected in every folder; None if it is not."""
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
