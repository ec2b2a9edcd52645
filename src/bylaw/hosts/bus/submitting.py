"""Submit events of the bus to the journal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.hosts.bus.handled import Handled
from bylaw.model.errors import BylawError

if TYPE_CHECKING:
    from bylaw.hosts.base import Loop
    from bylaw.hosts.bus.bus_host import BusHost
    from bylaw.model.event import Event


class Submissions:
    """Submit every event of the bus to the journal and collect the evidence that it writes."""

    def __init__(self, host: BusHost, loop: Loop) -> None:
        self._host = host
        self._loop = loop

    def submit(self, event: Event) -> Handled:
        """Decide an event and perform its steps.

        Raises BylawError if the journal cannot record it. Then nothing was done.
        """
        self._host.written.clear()
        (answer,) = self._loop.take([event])
        if answer.problem:
            raise BylawError(answer.problem)
        return Handled.of(answer, self._host.written)
