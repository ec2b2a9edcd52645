"""Limits of every command, in addition to its time."""

from __future__ import annotations

MAX_OUTPUT = 16 << 10  # bytes kept of each stream
# More than a build with all cores of a large machine needs; threads count as well.
MAX_PROCESSES = 8192
MAX_FILE = 4 << 30  # bytes
# For both streams together: more than any report that people read.
MAX_WRITTEN = 10_000_000
