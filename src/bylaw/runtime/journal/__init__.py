"""The journal: every event with its decision, chained by digests, and the sessions they fold to.

`database` opens the file, `connection` keeps it open, `schema` says what is in it, `chain` links
the records, `redaction` takes secrets out first, `sessions` and `snapshot` keep states, `store`
puts all of it into one transaction. `purge` erases, `anchor` notes the head elsewhere, `opening`
opens the journal of a root; `reader`, `search` and `reading` are for those who only look.
"""
