"""Frame of a process that decides one hook call: it sends only the reply, and then it exits.

    front.py, or resident.py → fork → judging.py → worker.py → handling.py → desk.py

It is light because the entry point imports it. The child imports `worker`, and with it everything
else, so that an error during the import becomes a reply, too.
"""

from __future__ import annotations

import gc
import os

from bylaw.hosts.hooks.packing import Reply

TYPE_CHECKING = False  # importing `typing` is too slow here
if TYPE_CHECKING:
    from typing import NoReturn


def judge(host: str, event: str, data: bytes, writing: int, linger_s: float = 0) -> NoReturn:
    """Decide a payload and exit. Only the answer reaches the client; other output is discarded."""
    code = 1
    reply = Reply(writing)
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nothing, stream)
        gc.disable()  # imports leave no garbage
        from bylaw.hosts.hooks.worker import judge_payload  # noqa: PLC0415 - slow import

        gc.freeze()
        gc.enable()
        judge_payload(host, event, data, reply, linger_s)
        code = 0
    except BaseException as wrong:  # noqa: BLE001 - the outermost frame of this process
        reply.fail(f"{type(wrong).__name__}: {wrong}")
    finally:
        os._exit(code)
