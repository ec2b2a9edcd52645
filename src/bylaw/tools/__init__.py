"""Read-only programs that return data."""
