"""The set-up of a root, looked at: what is fine, what a person has to do, what is wrong."""
