"""The ledger: the state of each message, in a database that all processes of a root share."""
