"""A folder as the tools of a chat work in it."""

import os
from contextlib import contextmanager

import pytest

from bylaw.hosts.chat.tools.base import ToolError
from bylaw.hosts.chat.tools.files import Files
from bylaw.runtime.trust import Trust, TrustState

UNTRUSTED = Trust(TrustState.UNTRUSTED, "no person has trusted it yet; see `bylaw trust`")


def untrusted():
    return UNTRUSTED


class ChatFolder:
    """Files by path and text; what lies beside the folder is not for its tools."""

    def __init__(self, folder):
        self.root = folder / "root"
        self.outside = folder / "outside"
        self.root.mkdir()
        self.outside.mkdir()
        (self.outside / "secret").write_text("secret")
        self.files = Files(str(self.root))

    def put(self, path, text):
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text if isinstance(text, bytes) else text.encode())
        return place

    def read(self, path):
        return (self.root / path).read_bytes().decode()

    def all(self):
        """Everything below the root: text of files, targets of links, None for the rest."""
        return {str(one.relative_to(self.root)): _found(one) for one in self.root.rglob("*")}

    @contextmanager
    def refused(self, *words):
        """The tool fails with these words, and nothing is changed."""
        before = self.all()
        with pytest.raises(ToolError) as failed:
            yield
        for word in words:
            assert word in str(failed.value)
        assert self.all() == before


def _found(path):
    if path.is_symlink():
        return path.readlink()
    return path.read_bytes().decode("utf-8", "replace") if path.is_file() else None


HOSTILE_PATHS = [
    "../outside/secret",
    "a/../../outside/secret",
    "/etc/passwd",
    "link",
    "folder/secret",
    "pipe",
    "device",
    "a\0b",
    "a\nb",
    "x/" * 3000,
    "n" * 300,
    "\ud800",
    ".",
    "",
    "sub",
]


def lay_traps(chat):
    """What the hostile paths lead to."""
    (chat.root / "sub").mkdir()
    (chat.root / "link").symlink_to("../outside/secret")
    (chat.root / "folder").symlink_to("../outside")
    os.mkfifo(chat.root / "pipe")
    (chat.root / "device").symlink_to("/dev/zero")


@pytest.fixture
def chat(tmp_path):
    return ChatFolder(tmp_path)
