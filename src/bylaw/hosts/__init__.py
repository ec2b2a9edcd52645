"""Hosts connect the engine to one environment each: hooks, chat, bus, a Python program."""
