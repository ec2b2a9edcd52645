"""Watch a tree and report what happens to its files: each change once, none lost.

`wake.py` reports where something happened, `scan.py` reads what is there now, and `changes.py`
compares that with the snapshot and derives the changes. So a change is found by the next
comparison even if the system dropped its event or no process was watching.
"""
