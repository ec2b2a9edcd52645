"""Adapters to the worlds that agents live in; `base` is the loop that all of them share."""
