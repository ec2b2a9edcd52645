"""File policies: explain them, create them, and convert the old single-file format."""
