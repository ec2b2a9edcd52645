"""Check that a journal is intact: its chain, payloads, sessions, anchor and decisions.

`links` checks the chain and the payloads, `states` rebuilds the sessions, `again` replays the
decisions, `whole` runs all of them and compares the anchor. `report` holds the findings.
"""
