"""Text → tree → checked tree → function: guards, conditions, templates, path patterns."""
