"""The steps of the child in order: read the payload, find the root, decide, reply.

`judging` calls it; the steps are in `handling`. An error that is meant for people becomes a reply
here. `judging` catches all others.
"""

from __future__ import annotations

from time import sleep
from typing import TYPE_CHECKING

from bylaw.hosts.hooks.adapters import adapter_named
from bylaw.hosts.hooks.handling import heard_from, opens_on_failure, put_to_rules
from bylaw.hosts.hooks.session_root import root_of
from bylaw.model.errors import BylawError, LoadError

if TYPE_CHECKING:
    from bylaw.hosts.hooks.base import Output
    from bylaw.hosts.hooks.packing import Reply


def judge_payload(host: str, event: str, data: bytes, reply: Reply, linger_s: float = 0) -> None:
    """Decide an event. Send the answer for the client, or the reason why there is none.

    After that, keep the journal open for `linger_s`. As long as a process has the journal open, its
    write-ahead log does not have to be created again, which costs more than all the rest.
    """

    def send(output: Output) -> None:
        reply.give(output)
        sleep(linger_s)

    adapter = adapter_named(host)
    try:
        heard = heard_from(adapter, event, data)
        root = root_of(adapter, heard)
        if opens_on_failure(root):
            reply.may_open()
        put_to_rules(adapter, heard, root, send)
    except BylawError as problem:
        reply.fail(_in_words(problem))


def _in_words(problem: BylawError) -> str:
    if not isinstance(problem, LoadError) or not problem.diagnostics:
        return str(problem)
    first = problem.diagnostics[0]
    line = first.source.position(first.span.start).line
    return f"{first.source.path}:{line}: {first.headline}"
