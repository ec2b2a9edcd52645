"""Printers: reports as text for people, or as data for programs. Pure functions."""
