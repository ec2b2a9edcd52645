"""The frame of a process that judges one call: nothing gets out but the reply, and then it ends.

    front.py, or resident.py → fork → judging.py → worker.py → handling.py → desk.py

Light, since the front end imports it; `worker`, and with it everything else, is imported in the
child, so that what fails there is a reply, too.
"""

from __future__ import annotations

import gc
import os

from bylaw.hosts.hooks.packing import Reply

TYPE_CHECKING = False  # `typing` is heavy here, and type checkers know this name
if TYPE_CHECKING:
    from typing import NoReturn


def judge(host: str, event: str, data: bytes, writing: int, linger_s: float = 0) -> NoReturn:
    """Judge a payload and end; nothing that is printed here reaches the client, but the answer."""
    code = 1
    reply = Reply(writing)
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nothing, stream)
        gc.disable()  # while all is imported, nothing is garbage
        from bylaw.hosts.hooks.worker import judge_payload  # noqa: PLC0415 - all that is heavy

        gc.freeze()
        gc.enable()
        judge_payload(host, event, data, reply, linger_s)
        code = 0
    except BaseException as wrong:  # noqa: BLE001 - the outermost place of this process
        reply.fail(f"{type(wrong).__name__}: {wrong}")
    finally:
        os._exit(code)
