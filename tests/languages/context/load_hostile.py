"""Run by a test in a process with little memory: files → how long each took, and its first error."""

import json
import resource
import sys
import time

from bylaw.languages.context.output import Payload, is_payload
from bylaw.report.context import read_context_files


def load(path):
    """Everything up to the payload that a user sees."""
    start = time.process_time()
    contract = read_context_files([path])
    told = Payload.of(contract.problems[0]).text() if contract.problems else ""
    seconds = time.process_time() - start
    assert not told or is_payload(told)
    return {"seconds": seconds, "code": told.partition("code: ")[2].partition("\n")[0]}


def main(most_bytes, paths):
    """A line for each file."""
    resource.setrlimit(resource.RLIMIT_AS, (most_bytes, most_bytes))
    for path in paths:
        sys.stdout.write(json.dumps(load(path)) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
