"""The queue of file policies: the format of an entry, its states, and the shared folder."""
