"""Answers to questions of people, as data, and their printers."""
