"""Cancel running commands from another thread or a signal handler."""

from __future__ import annotations

import os
import weakref


class Cancellation:
    """Ends the commands that were given it, permanently; from any thread or a signal handler."""

    def __init__(self) -> None:
        self.descriptor = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self.cancelled = False
        weakref.finalize(self, os.close, self.descriptor)

    def cancel(self) -> None:
        """End the commands now."""
        self.cancelled = True
        os.eventfd_write(self.descriptor, 1)
