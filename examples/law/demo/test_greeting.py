"""Tests of the greeting. `python -m unittest` runs them."""

import unittest

from greeting import greet


class Greeting(unittest.TestCase):
    """The greeting of a person."""

    def test_name(self) -> None:
        """The greeting contains the name."""
        assert greet("Ada") == "Hello, Ada!"
