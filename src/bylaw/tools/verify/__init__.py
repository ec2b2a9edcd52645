"""A journal → whether it is whole: its chain, its payloads, its sessions, its head, its decisions.

`links` walks along the chain, `states` through the sessions one after the other, `head` looks at
what was noted elsewhere; what they find is collected in `report`.
"""
