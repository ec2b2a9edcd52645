"""All pages of the repository → a site of plain HTML, with every link between them: `make site`."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
SETTINGS = """\
site_name: Bylaw
docs_dir: pages
site_dir: {target}
theme: readthedocs
validation:
  links:
    unrecognized_links: ignore # folders, which are no pages
nav:
  - Bylaw: README.md
  - Documentation: docs/README.md
  - The first hour: docs/first-hour.md
  - Recipes: docs/recipes.md
  - Coding agents: docs/hooks.md
  - Hosts:
      - Claude Code: docs/hosts/claude.md
      - Codex CLI: docs/hosts/codex.md
      - Gemini CLI: docs/hosts/gemini.md
      - Qwen Code: docs/hosts/qwen.md
      - GitHub Copilot CLI: docs/hosts/copilot.md
      - Factory Droid: docs/hosts/droid.md
      - OpenCode: docs/hosts/opencode.md
      - Cursor: docs/hosts/cursor.md
      - A chat: docs/hosts/chat.md
      - A Python program: docs/hosts/python.md
      - The work tree: docs/hosts/worktree.md
      - The bus: docs/hosts/bus.md
  - Languages:
      - ChatMD: docs/chatmd.md
      - TOML rules: docs/toml-rules.md
      - Context language: docs/context.md
      - RULE_DSL: docs/law.md
      - File policies: docs/policies.md
  - How a decision is made: docs/decisions.md
  - Walls and fences: docs/security.md
  - Machine interface: docs/machine-interface.md
  - Configuration: docs/configuration.md
  - Command line: docs/cli.md
  - Comparison: docs/comparison.md
  - Architecture: ARCHITECTURE.md
"""


def main(work: Path, target: Path) -> int:
    """Pages link to code and examples, so all that is tracked goes with them, but for tests."""
    shutil.rmtree(work, ignore_errors=True)
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)  # noqa: S607 - git of whoever builds
    for name in filter(None, listed.stdout.decode().split("\0")):
        if not name.startswith("tests/"):
            page = work / "pages" / name
            page.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, page)
    settings = work / "mkdocs.yml"
    settings.write_text(SETTINGS.format(target=target.resolve()), encoding="utf-8")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-f", str(settings)]
    return subprocess.run(build, check=False).returncode  # noqa: S603 - our own words


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
