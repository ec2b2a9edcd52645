"""Greetings; `python -m unittest` runs this."""

import unittest

from greeting import greet


class Greeting(unittest.TestCase):
    """What somebody is told."""

    def test_name(self) -> None:
        """The name is part of it."""
        assert greet("Ada") == "Hello, Ada!"
