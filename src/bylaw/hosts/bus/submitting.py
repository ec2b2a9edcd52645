"""An event of the bus → submitted, and what became of it; an error if it cannot be recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.hosts.bus.handled import Handled
from bylaw.model.errors import BylawError

if TYPE_CHECKING:
    from bylaw.hosts.base import Loop
    from bylaw.hosts.bus.bus_host import BusHost
    from bylaw.model.event import Event


class Submissions:
    """The one way into the journal; BylawError if that records nothing, and nothing was done."""

    def __init__(self, host: BusHost, loop: Loop) -> None:
        self._host = host
        self._loop = loop

    def submit(self, event: Event) -> Handled:
        """Have an event judged, and what follows carried out."""
        self._host.written.clear()
        (answer,) = self._loop.take([event])
        if answer.problem:
            raise BylawError(answer.problem)
        return Handled.of(answer, self._host.written)
