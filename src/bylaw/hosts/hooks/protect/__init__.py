"""Find protected files that a tool call would change, and those that were changed anyway."""
