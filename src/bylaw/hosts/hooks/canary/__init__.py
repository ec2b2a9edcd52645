"""Test real clients on this machine alone, with a fake model that follows a script.

`bylaw doctor --canary` and tests use it, nothing else does.
"""
