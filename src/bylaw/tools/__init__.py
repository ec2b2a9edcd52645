"""Answers to questions of people, as data. Nothing here changes a file."""
