"""Checks of `bylaw doctor`: what is fine, what a person has to do, what is wrong."""
