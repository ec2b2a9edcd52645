"""Read a git repository and its changes, with as few processes as possible."""
