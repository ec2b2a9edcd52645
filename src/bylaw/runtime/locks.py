"""Named locks that outlive their process: files in a folder that name their owners.

    KEY.lock   {"owner": …, "pid": …, "started": …, "host": …, "boot": …, "space": …, …}

A process takes a lock by creating its file, and only the token in the file can release it. A lock
is taken over only from a process that has certainly exited on this host, never because of its age.
Every change is made under a lock of the system, which no dead process can hold: of several
processes that see a dead owner, exactly one takes over. The lock file itself is created in one
step, and only if it does not exist, for hosts that share the folder but not the system.
"""

from __future__ import annotations

import os
import re
import secrets
from contextlib import contextmanager, suppress
from enum import StrEnum
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, MsgspecError, Struct, json

from bylaw.model.errors import BylawError
from bylaw.model.visible import brief, clipped, visible
from bylaw.runtime.brief_lock import briefly_locked
from bylaw.runtime.paths import as_bytes
from bylaw.runtime.processes import boot_id, is_gone, process_info, process_space
from bylaw.runtime.reading import in_plain_words, regular_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MAX_KEY = 100
MAX_LOCK_BYTES = 16 * 1024
MAX_WORDS = 1000  # characters of `rule` and of `msg_id` in a lock

_KEY = re.compile(rf"[A-Za-z0-9_.-]{{1,{MAX_KEY}}}")
# No key produces these names.
_GUARD = "guard"
_ENDING = ".lock"
_NEW = "~{}"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


class Owner(Struct, frozen=True, forbid_unknown_fields=True):
    """The content of a lock file: a token, the process that took the lock, and its purpose."""

    owner: Annotated[str, Meta(min_length=1)]
    pid: Annotated[int, Meta(ge=1, le=2**31 - 1)]
    started: int
    host: str
    boot: str
    space: str
    rule: str = ""
    msg_id: str = ""


class Lock(Struct, frozen=True):
    """A lock that this process holds; `taken_from` is the dead owner it was taken over from."""

    key: str
    token: str
    taken_from: Owner | None = None


class By(StrEnum):
    """Why a lock is not available."""

    RUNNING = "running"
    ANOTHER_HOST = "another host"
    UNCERTAIN = "uncertain"
    BROKEN = "broken"


class NotTaken(Struct, frozen=True):
    """A lock that was not taken, and why; `owner` is None if the lock file cannot be read."""

    key: str
    by: By
    why: str
    owner: Owner | None = None


class Locks:
    """The locks of a folder. The folder is created with the first lock."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def acquire(self, key: str, *, rule: str = "", msg_id: str = "") -> Lock | NotTaken:
        """Take a lock now, or return why not. `rule` and `msg_id` tell readers its purpose.

        BylawError if the key is invalid or the folder cannot be used.
        """
        if not _KEY.fullmatch(key):
            raise BylawError(f"invalid lock key `{brief(key)}`: use {_GRAMMAR}")
        with self._changing() as folder:
            found = _read(folder, key)
            if isinstance(found, NotTaken):
                return found
            held = None if found is None else _held(key, found)
            if held is not None:
                return held
            if found is not None:  # if none, leave it: another host may create one now
                _remove(folder, _name(key))
            return _take(folder, Lock(key, secrets.token_hex(16), found), rule, msg_id)

    def release(self, lock: Lock) -> bool:
        """Release a lock; False, and no change, if this process no longer holds it."""
        with self._changing() as folder:
            found = _read(folder, lock.key)
            ours = isinstance(found, Owner) and found.owner == lock.token
            if ours:
                _remove(folder, _name(lock.key))
            return ours

    def clear(self, key: str, *, rule: str, msg_id: str) -> bool:
        """Remove a lock with this purpose if its owner has certainly exited; False if not."""
        wanted = _words(rule, msg_id)
        with self._changing() as folder:
            return _clear(folder, key, lambda owner: (owner.rule, owner.msg_id) == wanted)

    def clear_left(self, msg_id: str) -> list[str]:
        """Remove all locks of a message whose owners have certainly exited; return their keys."""
        _, wanted = _words("", msg_id)
        with self._changing() as folder:
            keys = _keys(folder)
            return [key for key in keys if _clear(folder, key, lambda one: one.msg_id == wanted)]

    @contextmanager
    def _changing(self) -> Iterator[int]:
        """Open the folder and keep other processes of this host from changing it meanwhile."""
        try:
            os.makedirs(as_bytes(self._folder), 0o700, exist_ok=True)  # noqa: PTH103 - a Path takes no bytes
            folder = os.open(as_bytes(self._folder), _FOLDER)
            try:
                with briefly_locked(folder, _GUARD, self._folder):
                    yield folder
            finally:
                os.close(folder)
        except OSError as wrong:
            message = f"cannot use locks in `{self._folder}`: {in_plain_words(wrong)}"
            raise BylawError(message) from None


_GRAMMAR = f"letters, digits, `_`, `.` and `-`, at most {MAX_KEY} characters"


def _name(key: str) -> str:
    return f"{key}{_ENDING}"


def _read(folder: int, key: str) -> Owner | NotTaken | None:
    try:
        data = regular_bytes(_name(key), MAX_LOCK_BYTES, links=False, folder=folder)
        return json.decode(data, type=Owner)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, MsgspecError):
        why = f"`{_name(key)}` is not a valid lock file; remove it if no process holds the lock"
        return NotTaken(key, By.BROKEN, why)


def _held(key: str, owner: Owner) -> NotTaken | None:
    """Return why the owner still holds the lock; None if it has certainly exited."""
    who = f"process {owner.pid}" + (f" of {brief(owner.rule)}" if owner.rule else "")
    if owner.host != _host():
        why = f"{who} on `{brief(owner.host)}` holds it; check on that host whether it still runs"
        return NotTaken(key, By.ANOTHER_HOST, why, owner)
    if owner.boot != boot_id():
        return None
    if owner.space != process_space():
        why = f"{who} in another container holds it; remove `{_name(key)}` if it has exited"
        return NotTaken(key, By.UNCERTAIN, why, owner)
    if is_gone(owner.pid, owner.started):
        return None
    return NotTaken(key, By.RUNNING, f"{who} holds it", owner)


def _take(folder: int, lock: Lock, rule: str, msg_id: str) -> Lock | NotTaken:
    us = _ourselves(lock.token, *_words(rule, msg_id))
    # One name per host: if a process died here, the next one removes its file.
    new = _NEW.format(sha256(us.host.encode()).hexdigest()[:16])
    _remove(folder, new)
    _write(folder, new, json.encode(us))
    try:
        os.link(new, _name(lock.key), src_dir_fd=folder, dst_dir_fd=folder)
    except FileExistsError:
        return NotTaken(lock.key, By.ANOTHER_HOST, "another host took it at the same time")
    finally:
        _remove(folder, new)
    return lock


def _keys(folder: int) -> list[str]:
    names = sorted(os.listdir(folder))
    return [name.removesuffix(_ENDING) for name in names if name.endswith(_ENDING)]


def _clear(folder: int, key: str, is_wanted: Callable[[Owner], bool]) -> bool:
    found = _read(folder, key)
    if not isinstance(found, Owner) or not is_wanted(found):
        return False
    left = _held(key, found) is None
    if left:
        _remove(folder, _name(key))
    return left


def _words(rule: str, msg_id: str) -> tuple[str, str]:
    """Return the purpose of a lock as its file stores it."""
    return clipped(visible(rule), MAX_WORDS), clipped(visible(msg_id), MAX_WORDS)


def _remove(folder: int, name: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)


def _write(folder: int, name: str, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with open(os.open(name, flags, 0o600, dir_fd=folder), "wb") as stream:  # noqa: PTH123 - a descriptor
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())  # an empty lock could never be taken over


def _ourselves(token: str, rule: str, msg_id: str) -> Owner:
    own = process_info(os.getpid())
    if own is None:
        raise OSError("`/proc` has no entry for this process")
    return Owner(token, own.pid, own.started, _host(), boot_id(), process_space(), rule, msg_id)


def _host() -> str:
    return visible(os.uname().nodename)
