"""Where each coding agent keeps its hooks and the settings that decide whether they run.

`bylaw install` writes these files, `bylaw doctor` reads them, and an agent must not change them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.runtime import effects

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class ClientPlaces(Struct, frozen=True, kw_only=True):
    """The files of one client: `project` files from the root, `user` files below `home`.

    `home` is a folder in the user's home, unless one of `variables` is set: it names a folder, with
    the client's folder below it. Bylaw writes its hooks to the first existing file of `project` or
    `user`, else to the last one. `project_settings` and `user_settings` may contain a switch that
    disables hooks. The client also reads hooks from `project_also` and `user_also`.
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
        """All files that matter in a project."""
        return (*self.project, *self.project_settings, *self.project_also)

    def user_paths(self) -> tuple[str, ...]:
        """All files that matter for a user, relative to the client's folder."""
        return (*self.user, *self.user_settings, *self.user_also)

    def moved(self, environment: Mapping[str, str]) -> Iterator[str]:
        """Yield the files of a user in the folders that environment variables name."""
        for variable, below in self.variables:
            folder = environment.get(variable, "")
            if folder.startswith("/"):
                top = f"{folder.rstrip('/')}/{below}".rstrip("/")
                yield from (f"{top}/{name}" for name in self.user_paths())


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
