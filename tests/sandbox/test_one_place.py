"""Nothing but `runtime/sandbox/command.py` starts a program; the watcher that it starts, starts the command.

A hook forks itself, to own what fails, and leaves a process of its own behind for the next.
"""

import ast
import re
from pathlib import Path

import bylaw

SOURCES = Path(bylaw.__file__).parent
ALLOWED = {
    "hosts/hooks/entrypoint.py": {"os.fork", "os.posix_spawn"},  # Bylaw itself, nothing else
    "hosts/hooks/resident.py": {"os.fork"},
    "runtime/sandbox/command.py": {"subprocess"},
    "runtime/sandbox/client.py": {"subprocess"},  # a constant of it
    "runtime/sandbox/supervisor.py": {"os.posix_spawn", "ctypes"},
    "store/files.py": {"ctypes"},  # renameat2, which the standard library does not have
}
MODULES = {
    "subprocess", "_posixsubprocess", "multiprocessing", "concurrent.futures.process", "pty",
    "ctypes", "cffi", "webbrowser",
}  # fmt: skip
OF_OS = re.compile(r"exec[lv]p?e?|fork|forkpty|spawn[lv]p?e?|posix_spawnp?|popen|system|startfile")
ELSEWHERE = {
    "create_subprocess_exec", "create_subprocess_shell", "subprocess_exec", "subprocess_shell",
    "echo_via_pager", "ProcessPoolExecutor",
}  # fmt: skip


def test_nobody_else_starts_a_process():
    found = {}
    for path in sorted(SOURCES.rglob("*.py")):
        ways = set(ways_in(ast.parse(path.read_text())))
        if ways:
            found[str(path.relative_to(SOURCES))] = ways

    assert found == ALLOWED


def test_the_search_finds_them():
    code = (
        "import os, subprocess as s, pty\nfrom os import execv, fork as f\nimport ctypes.util\n"
        "from multiprocessing import Process\nos.system('x'); o.posix_spawnp; click.edit()\n"
        "__import__('subprocess'); importlib.import_module('pty')"
    )

    assert set(ways_in(ast.parse(code))) == {
        "subprocess", "pty", "os.execv", "os.fork", "ctypes", "multiprocessing", "os.system",
        "os.posix_spawnp", "click.edit",
    }  # fmt: skip


def ways_in(tree):
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (way for one in names for way in known_module(one.name))
            case ast.ImportFrom(module=str(module), names=names):
                yield from known_module(module)
                yield from (f"os.{n.name}" for n in names if module == "os" and starts(n.name))
                yield from (n.name for n in names if n.name in ELSEWHERE)
            case ast.Attribute(value=ast.Name(id="click"), attr="edit" | "launch" as name):
                yield f"click.{name}"
            case ast.Attribute(attr=name):
                yield from [f"os.{name}"] if starts(name) else []
                yield from [name] if name in ELSEWHERE else []
            case ast.Constant(value=str(text)):
                yield from known_module(text)


def known_module(name):
    return [one for one in MODULES if name == one or name.startswith(f"{one}.")]


def starts(name):
    return OF_OS.fullmatch(name) is not None
