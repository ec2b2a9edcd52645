"""A name → a greeting. Put your own code in its place."""


def greet(name: str) -> str:
    """Greet somebody."""
    return f"Hello, {name}!"
