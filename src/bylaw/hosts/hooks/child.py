"""The process that decides one hook call: it sends only the reply, and then it exits.

    entry point or resident → fork → read the payload → find the root → decide → reply

Every error becomes a reply, too, so that the entry point can deny with a reason. To find the root,
Bylaw uses the project folder that the client names, because an agent can change its folder and must
not choose its rules that way. If a client names none, the root of the session's first event is
remembered in the user's state folder. Unknown fields are noted for `bylaw doctor`.
"""

from __future__ import annotations

import gc
import os
from typing import TYPE_CHECKING

from bylaw.hosts.hooks.resident_client import ReplyWriter

if TYPE_CHECKING:
    from typing import NoReturn


def run_child(host: str, event: str, data: bytes, writing: int, linger_s: float = 0) -> NoReturn:
    """Decide a payload and exit. Only the answer reaches the client; other output is discarded."""
    code = 1
    reply = ReplyWriter(writing)
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nothing, stream)
        gc.disable()  # imports leave no garbage
        from bylaw.hosts.hooks.payload import handle_payload  # noqa: PLC0415 - slow import

        gc.freeze()
        gc.enable()
        handle_payload(host, event, data, reply, linger_s)
        code = 0
    except BaseException as wrong:  # noqa: BLE001 - the outermost frame of this process
        reply.fail(f"{type(wrong).__name__}: {wrong}")
    finally:
        os._exit(code)
