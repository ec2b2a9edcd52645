"""Real clients tried out on this machine alone: a model that speaks a script, and who talks to it.

Only `bylaw doctor --canary` and tests import this.
"""
