"""What every command is held to, beside its time."""

from __future__ import annotations

MAX_OUTPUT = 16 << 10  # bytes of each stream that are kept
# More than a build with all cores of a large machine needs; threads count as well.
MAX_PROCESSES = 8192
MAX_FILE = 4 << 30  # bytes
# Of both streams together: no report for people is as long, however much a build has to say.
MAX_WRITTEN = 10_000_000
