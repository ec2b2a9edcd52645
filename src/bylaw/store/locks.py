"""Named locks that outlive their process, and short locks around the change of a file.

    KEY.lock   {"owner": …, "pid": …, "started": …, "host": …, "boot": …, "space": …, …}

A process takes a named lock by creating its file, and only the token in the file can release it.
It is taken over only from a process that has certainly exited on this host, never because of its
age. Every change is made under a short lock of the system, which no dead process can hold.
"""

from __future__ import annotations

import os
import re
import secrets
from contextlib import contextmanager, suppress
from enum import StrEnum
from fcntl import LOCK_EX, LOCK_NB, flock
from hashlib import sha256
from time import monotonic, sleep
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, MsgspecError, Struct, json

from bylaw.model.display import brief, clip_text, visible
from bylaw.model.errors import BylawError
from bylaw.store.files import os_error_text, read_regular_bytes
from bylaw.store.paths import as_bytes
from bylaw.store.system import boot_id, is_gone, process_info, process_space

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


PATIENCE_S = 10  # most changes take milliseconds; longer ones pass their own limit
_BETWEEN_TRIES_S = 0.005


@contextmanager
def hold_lock(folder: int, name: str, what: str, patience_s: float = PATIENCE_S) -> Iterator[None]:
    """Hold the lock file of that name in an open folder until the context ends.

    BylawError if another process holds the lock too long; `what` names the file in the message.
    """
    lock = os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600, dir_fd=folder)
    try:
        wait_for_lock(lock, what, patience_s)
        yield
    finally:
        os.close(lock)  # this also releases the lock


def wait_for_lock(lock: int, what: str, patience_s: float = PATIENCE_S) -> None:
    """Lock an open file or folder until it is closed; BylawError after `patience_s` seconds."""
    until = monotonic() + patience_s
    while True:
        try:
            flock(lock, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            if monotonic() >= until:
                message = f"`{what}` is locked by another process (waited {patience_s:g} s)"
                raise BylawError(message) from None
            sleep(_BETWEEN_TRIES_S)
        else:
            return


MAX_KEY = 100
MAX_LOCK_BYTES = 16 * 1024
MAX_PURPOSE_CHARS = 1000  # characters of `rule` and of `msg_id` in a lock

_KEY_PATTERN = re.compile(rf"[A-Za-z0-9_.-]{{1,{MAX_KEY}}}")
# No key produces these names.
_GUARD = "guard"
_SUFFIX = ".lock"
_NEW_NAME = "~{}"
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


class LockRefusalReason(StrEnum):
    """Why a lock is not available."""

    RUNNING = "running"
    ANOTHER_HOST = "another host"
    UNCERTAIN = "uncertain"
    BROKEN = "broken"


class LockRefusal(Struct, frozen=True):
    """A lock that was not taken, and why; `owner` is None if the lock file cannot be read."""

    key: str
    by: LockRefusalReason
    why: str
    owner: Owner | None = None


class Locks:
    """The locks of a folder. The folder is created with the first lock."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def acquire(self, key: str, *, rule: str = "", msg_id: str = "") -> Lock | LockRefusal:
        """Take a lock now, or return why not. `rule` and `msg_id` tell readers its purpose.

        BylawError if the key is invalid or the folder cannot be used.
        """
        if not _KEY_PATTERN.fullmatch(key):
            raise BylawError(f"invalid lock key `{brief(key)}`: use {_KEY_RULE}")
        with self._locked_folder() as folder:
            found = _read(folder, key)
            if isinstance(found, LockRefusal):
                return found
            held = None if found is None else _owner_refusal(key, found)
            if held is not None:
                return held
            if found is not None:  # if none, leave it: another host may create one now
                _remove(folder, _name(key))
            return _create(folder, Lock(key, secrets.token_hex(16), found), rule, msg_id)

    def release(self, lock: Lock) -> bool:
        """Release a lock; False, and no change, if this process no longer holds it."""
        with self._locked_folder() as folder:
            found = _read(folder, lock.key)
            ours = isinstance(found, Owner) and found.owner == lock.token
            if ours:
                _remove(folder, _name(lock.key))
            return ours

    def clear(self, key: str, *, rule: str, msg_id: str) -> bool:
        """Remove a lock with this purpose if its owner has certainly exited; False if not."""
        wanted = _purpose(rule, msg_id)
        with self._locked_folder() as folder:
            return _clear(folder, key, lambda owner: (owner.rule, owner.msg_id) == wanted)

    def clear_dead(self, msg_id: str) -> list[str]:
        """Remove all locks of a message whose owners have certainly exited; return their keys."""
        _, wanted = _purpose("", msg_id)
        with self._locked_folder() as folder:
            keys = _keys(folder)
            return [key for key in keys if _clear(folder, key, lambda one: one.msg_id == wanted)]

    @contextmanager
    def _locked_folder(self) -> Iterator[int]:
        """Open the folder and keep other processes of this host from changing it meanwhile."""
        try:
            os.makedirs(as_bytes(self._folder), 0o700, exist_ok=True)  # noqa: PTH103 - a Path takes no bytes
            folder = os.open(as_bytes(self._folder), _FOLDER)
            try:
                with hold_lock(folder, _GUARD, self._folder):
                    yield folder
            finally:
                os.close(folder)
        except OSError as wrong:
            message = f"cannot use locks in `{self._folder}`: {os_error_text(wrong)}"
            raise BylawError(message) from None


_KEY_RULE = f"letters, digits, `_`, `.` and `-`, at most {MAX_KEY} characters"


def _name(key: str) -> str:
    return f"{key}{_SUFFIX}"


def _read(folder: int, key: str) -> Owner | LockRefusal | None:
    try:
        data = read_regular_bytes(_name(key), MAX_LOCK_BYTES, links=False, folder=folder)
        return json.decode(data, type=Owner)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, MsgspecError):
        why = f"`{_name(key)}` is not a valid lock file; remove it if no process holds the lock"
        return LockRefusal(key, LockRefusalReason.BROKEN, why)


def _owner_refusal(key: str, owner: Owner) -> LockRefusal | None:
    """Return why the owner still holds the lock; None if it has certainly exited."""
    who = f"process {owner.pid}" + (f" of {brief(owner.rule)}" if owner.rule else "")
    if owner.host != _host():
        why = f"{who} on `{brief(owner.host)}` holds it; check on that host whether it still runs"
        return LockRefusal(key, LockRefusalReason.ANOTHER_HOST, why, owner)
    if owner.boot != boot_id():
        return None
    if owner.space != process_space():
        why = f"{who} in another container holds it; remove `{_name(key)}` if it has exited"
        return LockRefusal(key, LockRefusalReason.UNCERTAIN, why, owner)
    if is_gone(owner.pid, owner.started):
        return None
    return LockRefusal(key, LockRefusalReason.RUNNING, f"{who} holds it", owner)


def _create(folder: int, lock: Lock, rule: str, msg_id: str) -> Lock | LockRefusal:
    us = _this_owner(lock.token, *_purpose(rule, msg_id))
    # One name per host: if a process died here, the next one removes its file.
    new = _NEW_NAME.format(sha256(us.host.encode()).hexdigest()[:16])
    _remove(folder, new)
    _write(folder, new, json.encode(us))
    try:
        os.link(new, _name(lock.key), src_dir_fd=folder, dst_dir_fd=folder)
    except FileExistsError:
        return LockRefusal(
            lock.key, LockRefusalReason.ANOTHER_HOST, "another host took it at the same time"
        )
    finally:
        _remove(folder, new)
    return lock


def _keys(folder: int) -> list[str]:
    names = sorted(os.listdir(folder))
    return [name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX)]


def _clear(folder: int, key: str, is_wanted: Callable[[Owner], bool]) -> bool:
    found = _read(folder, key)
    if not isinstance(found, Owner) or not is_wanted(found):
        return False
    left = _owner_refusal(key, found) is None
    if left:
        _remove(folder, _name(key))
    return left


def _purpose(rule: str, msg_id: str) -> tuple[str, str]:
    """Return the purpose of a lock as its file stores it."""
    return clip_text(visible(rule), MAX_PURPOSE_CHARS), clip_text(
        visible(msg_id), MAX_PURPOSE_CHARS
    )


def _remove(folder: int, name: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)


def _write(folder: int, name: str, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with open(os.open(name, flags, 0o600, dir_fd=folder), "wb") as stream:  # noqa: PTH123 - a descriptor
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())  # an empty lock could never be taken over


def _this_owner(token: str, rule: str, msg_id: str) -> Owner:
    own = process_info(os.getpid())
    if own is None:
        raise OSError("`/proc` has no entry for this process")
    return Owner(token, own.pid, own.started, _host(), boot_id(), process_space(), rule, msg_id)


def _host() -> str:
    return visible(os.uname().nodename)


LOCKS = "runtime/locks"
