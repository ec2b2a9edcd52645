"""Tools that a chat's model, and its rules, can call."""
