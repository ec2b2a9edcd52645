"""A git work tree → what changed in it, the queue of its policies, and their commands."""
