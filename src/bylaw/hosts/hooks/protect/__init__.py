"""Tool calls → the protected files that they would change; and what was changed all the same."""
