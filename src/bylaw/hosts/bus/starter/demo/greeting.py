"""Greet a person by name. Replace this with your own code."""


def greet(name: str) -> str:
    """Return the greeting for a name."""
    return f"Hello, {name}!"
