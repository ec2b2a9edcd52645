"""Match patterns one after the other, for a process that is watched: `match_patterns.py`.

Reads JSON lines `[piece, times, paths]`, the pattern being the piece so many times. For each a
line of JSON is printed: how many paths match, or `refused` and how many diagnostics there are.
"""

import json
import sys

from bylaw.model.errors import PatternError
from bylaw.paths import pattern


def outcome(text, paths):
    try:
        checked = pattern(text)
    except PatternError as refused:
        return ["refused", len(refused.diagnostics)]
    return ["matches", sum(checked.match(path) is not None for path in paths)]


for line in sys.stdin:
    piece, times, paths = json.loads(line)
    sys.stdout.write(json.dumps(outcome(piece * times, paths)) + "\n")
    sys.stdout.flush()
