"""Hosts: each connects the engine to one environment, such as hooks, chat, bus or a Python program."""
