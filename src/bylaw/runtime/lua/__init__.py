"""Lua scripts in a process of their own: what that process runs."""
