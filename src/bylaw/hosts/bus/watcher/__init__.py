"""Watch a tree and report what happens to its files: each change once, none lost.

`folder_watch` reports where something happened; `scan` reads what is there now and compares it with
the snapshot. So a change is found by the next comparison even if the system dropped its event or no
process was watching.
"""
