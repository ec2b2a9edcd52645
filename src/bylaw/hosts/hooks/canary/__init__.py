"""Real clients tried out on this machine alone: a model that speaks a script, and who talks to it.

`bylaw doctor --canary` starts it, and so do tests; nothing else needs it.
"""
