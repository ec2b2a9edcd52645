"""Policies as files that people write: new ones, those of the former format, what each expects."""
