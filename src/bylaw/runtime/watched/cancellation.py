"""A wish that commands end, from whoever has it."""

from __future__ import annotations

import os
import weakref


class Cancellation:
    """Ends commands that were given it, for good; from any thread, also in a signal handler."""

    def __init__(self) -> None:
        self.descriptor = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self.cancelled = False
        weakref.finalize(self, os.close, self.descriptor)

    def cancel(self) -> None:
        """End them now."""
        self.cancelled = True
        os.eventfd_write(self.descriptor, 1)
