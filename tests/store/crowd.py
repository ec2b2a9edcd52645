"""Processes that write to one session side by side: `PATH PROCESSES EVENTS QUOTA`.

Each tries to use a tool in every second event. Prints how many uses were let through.
"""

import os
import sys

from journal_law import quota, runtime

from bylaw.model.event import Message, ToolAfter, ToolBefore
from bylaw.model.vocabulary import CallStatus, Role


def write(path, number, events, times):
    work = runtime(path, quota(times))
    passed = 0
    for count in range(events // 2):
        call = f"{number}-{count}"
        reply = work.submit(ToolBefore(tool="shell", call=call))
        assert not reply.problem, reply.problem
        if reply.verdict.value == "allow":
            passed += 1
            work.submit(ToolAfter(tool="shell", call=call, status=CallStatus.OK))
        else:
            work.submit(Message(role=Role.USER, text=f"what now, {call}?"))
    work.journal.close()
    return passed


def main(path, processes, events, times):
    pipes = []
    for number in range(processes):
        reading, writing = os.pipe()
        if not os.fork():
            os.write(writing, b"%d" % write(path, number, events, times))
            os._exit(0)
        os.close(writing)
        pipes.append(reading)
    for pipe in pipes:
        with os.fdopen(pipe) as stream:
            sys.stdout.write(f"{stream.read()}\n")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
