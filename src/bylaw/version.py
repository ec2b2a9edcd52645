"""The version, in a separate module so that `bylaw --version` imports almost nothing."""

__version__ = "0.1.0"
