"""All pages of the repository → a site of plain HTML, with every link between them: `make site`."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from site_check import problems
from site_pages import pages

ROOT = Path(__file__).parent.parent
STYLE = "docs/site.css"
COLOURS = [sys.executable, "-m", "pygments", *["-S", "friendly", "-f", "html", "-a", ".codehilite"]]
SETTINGS = """\
site_name: Bylaw
docs_dir: pages
site_dir: {target}
theme:
  name: readthedocs
  highlightjs: false # Pygments has done it: nothing is fetched from elsewhere
  navigation_depth: 3
extra_css: [docs/site.css]
exclude_docs: "!.*" # rules lie in such folders
markdown_extensions:
  - codehilite: {{guess_lang: false}}
  - sane_lists
validation:
  links:
    anchors: warn
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
  - In depth:
      - How a decision is made: docs/decisions.md
      - Security: docs/security.md
      - Compaction: docs/compaction.md
      - Comparison: docs/comparison.md
  - Reference:
      - Command line: docs/cli.md
      - Configuration: docs/configuration.md
      - Machine interface: docs/machine-interface.md
      - Diagnostics: docs/diagnostics/README.md
      - Examples: examples/README.md
      - Cases: spec/README.md
  - Development:
      - Architecture: ARCHITECTURE.md
      - Contributing: CONTRIBUTING.md
"""


def main(work: Path, target: Path) -> int:
    """Build the site, and say what is wrong with it."""
    shutil.rmtree(work, ignore_errors=True)
    for name, text in pages(tracked(), lambda name: (ROOT / name).read_text("utf-8")).items():
        page = work / "pages" / name
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(text, encoding="utf-8")
    colours = subprocess.run(COLOURS, capture_output=True, text=True, check=True).stdout  # noqa: S603 - our own words
    (work / "pages" / STYLE).write_text((ROOT / STYLE).read_text("utf-8") + colours, "utf-8")
    settings = work / "mkdocs.yml"
    settings.write_text(SETTINGS.format(target=target.resolve()), encoding="utf-8")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-f", str(settings)]
    if code := subprocess.run(build, check=False).returncode:  # noqa: S603 - our own words
        return code
    found = problems(target.resolve())
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


def tracked() -> list[str]:
    """Every file of the repository, by its path from the root."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)  # noqa: S607 - git of whoever builds
    return sorted(filter(None, listed.stdout.decode().split("\0")))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
