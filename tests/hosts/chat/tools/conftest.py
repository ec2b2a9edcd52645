"""Tests of the tools share a folder in which these work."""

from chat_folder import chat

__all__ = ["chat"]
