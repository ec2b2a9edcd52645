"""The journal: every event with its decision, chained by digests, and the sessions they fold to.

`database` opens the file, `connection` keeps it open, `schema` defines the tables, `chain` links
the records, `redaction` removes secrets before they are stored, `sessions` and `snapshot` store
session states, `store` does all of this in one transaction. `purge` erases payloads, `anchor` keeps
the last digest in another folder, `opening` opens the journal of a root. `reader`, `search` and
`reading` only read.
"""
