"""The journal: every event with its decision, chained by digests, and the sessions they fold to.

`database` opens the file, `schema` says what is in it, `chain` links the records, `snapshot` keeps
sessions small, `redaction` takes secrets out first, `store` puts all of it into one transaction.
"""
