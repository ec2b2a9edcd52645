"""Coding agents as data: where each keeps its hooks, and what else decides whether they run.

`bylaw install` writes there, `bylaw doctor` reads there, and an agent must not change it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.runtime import effects

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class ClientPlaces(Struct, frozen=True, kw_only=True):
    """The places of one client: those of a project from its root, those of a user below `home`.

    `home` is a folder of the user's home, unless one of `variables` is set: each has its own folder
    below the one that it names. Hooks of ours are written to `project` and `user`: to the first
    that exists, else to the last one. A switch that keeps hooks from running stands in
    `project_settings` or `user_settings`. `project_also` and `user_also` are files and folders
    that the client reads hooks from, too.
    """

    project: tuple[str, ...]
    home: str
    user: tuple[str, ...]
    variables: tuple[tuple[str, str], ...] = ()
    project_settings: tuple[str, ...] = ()
    user_settings: tuple[str, ...] = ()
    project_also: tuple[str, ...] = ()
    user_also: tuple[str, ...] = ()

    def in_project(self) -> tuple[str, ...]:
        """Everything that counts in a project."""
        return (*self.project, *self.project_settings, *self.project_also)

    def of_user(self) -> tuple[str, ...]:
        """Everything that counts for a user, from the folder of the client on."""
        return (*self.user, *self.user_settings, *self.user_also)

    def moved(self, environment: Mapping[str, str]) -> Iterator[str]:
        """The same where variables say that it lies."""
        for variable, below in self.variables:
            folder = environment.get(variable, "")
            if folder.startswith("/"):
                top = f"{folder.rstrip('/')}/{below}".rstrip("/")
                yield from (f"{top}/{name}" for name in self.of_user())


_SETTINGS = ("settings.json",)

PLACES: Mapping[str, ClientPlaces] = {
    effects.CLAUDE: ClientPlaces(
        project=(".claude/settings.json",),
        home=".claude",
        user=_SETTINGS,
        variables=(("CLAUDE_CONFIG_DIR", ""),),
        project_settings=(".claude/settings.json", ".claude/settings.local.json"),
        user_settings=_SETTINGS,
        project_also=(".claude/hooks",),
        user_also=("settings.local.json", "hooks"),
    ),
    effects.CODEX: ClientPlaces(
        project=(".codex/hooks.json",),
        home=".codex",
        user=("hooks.json",),
        variables=(("CODEX_HOME", ""),),
        project_settings=(".codex/config.toml",),
        user_settings=("config.toml",),
    ),
    effects.GEMINI: ClientPlaces(
        project=(".gemini/settings.json",),
        home=".gemini",
        user=_SETTINGS,
        variables=(("GEMINI_CLI_HOME", ".gemini"),),
        project_settings=(".gemini/settings.json",),
        user_settings=_SETTINGS,
        project_also=(".gemini/hooks", ".gemini/extensions"),
        user_also=("hooks", "extensions"),
    ),
    effects.QWEN: ClientPlaces(
        project=(".qwen/settings.json",),
        home=".qwen",
        user=_SETTINGS,
        variables=(("QWEN_HOME", ""),),
        project_settings=(".qwen/settings.json",),
        user_settings=_SETTINGS,
        project_also=(".qwen/hooks", ".qwen/extensions"),
        user_also=("hooks", "extensions"),
    ),
    effects.COPILOT: ClientPlaces(
        project=(".github/hooks/bylaw.json",),
        home=".copilot",
        user=("hooks/bylaw.json",),
        variables=(("COPILOT_HOME", ""),),
        project_also=(
            ".github/hooks",
            ".github/copilot/settings.json",
            ".github/copilot/settings.local.json",
        ),
        user_also=("hooks", "config.json", "settings.json"),
    ),
    effects.DROID: ClientPlaces(
        project=(".factory/settings.json",),
        home=".factory",
        user=_SETTINGS,
        project_also=(".factory/settings.local.json", ".factory/hooks.json", ".factory/hooks"),
        user_also=("settings.local.json", "hooks.json", "hooks"),
    ),
    effects.OPENCODE: ClientPlaces(
        project=("opencode.jsonc", "opencode.json"),
        home=".config/opencode",
        user=("opencode.jsonc", "opencode.json"),
        variables=(("OPENCODE_CONFIG_DIR", ""), ("XDG_CONFIG_HOME", "opencode")),
        project_also=(
            *(".opencode/opencode.jsonc", ".opencode/opencode.json"),
            *(".opencode/plugin", ".opencode/plugins"),
        ),
        user_also=("plugin", "plugins"),
    ),
    effects.CURSOR: ClientPlaces(
        project=(".cursor/hooks.json",),
        home=".cursor",
        user=("hooks.json",),
        project_also=(".cursor/hooks",),
        user_also=("hooks",),
    ),
}
