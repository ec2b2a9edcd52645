"""The version, in a module of its own so that printing it imports nothing else."""

__version__ = "0.1.0"
