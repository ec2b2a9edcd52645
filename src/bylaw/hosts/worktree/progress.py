"""Whoever runs policies may be told how far they are."""


def no_words(_: str) -> None:
    """For somebody who does not want to know."""
