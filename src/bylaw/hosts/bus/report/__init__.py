"""The status of a bus, for `bylaw bus status`. Reads only."""
