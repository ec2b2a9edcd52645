"""Changes of a git work tree, and the queue and commands of its file policies."""
