"""Hosts: each connects the engine to one environment. All of them share the loop in `base`."""
