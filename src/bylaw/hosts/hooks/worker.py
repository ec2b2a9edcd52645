"""What the child does, in its order: read the payload, find the root, ask the rules, reply.

`judging` calls it; the steps stand in `handling`. Errors that are meant for people become a reply
here, in words; all others are caught in `judging`.
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
    """Judge an event, and reply what the client is answered, or why it cannot be.

    For `linger_s` the journal stays open then: as long as somebody has it open, its log need not
    be made anew, which costs more than all the rest.
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
