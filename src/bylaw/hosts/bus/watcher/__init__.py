"""A watched tree → what happened to its files, each change once, none lost.

`wake.py` says that something happened, and where; `scan.py` looks what is there now; `changes.py`
compares that with the snapshot and says what it was. So neither an event that the system dropped
nor the time in which nobody watched loses anything: the next comparison finds it.
"""
