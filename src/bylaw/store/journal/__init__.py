"""The journal: every event with its decision, chained by digests, and the sessions they fold to.

`journal` writes a record and the session in one transaction, `database` opens the file, `records`
decodes rows and computes the chain, `sessions` stores session states, `purge` erases payloads.
`search` only reads. `runtime/journal_access` opens the journal of a root.
"""
