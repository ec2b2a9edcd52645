"""Progress callbacks for policy runs."""


def no_words(_: str) -> None:
    """Ignore progress."""
