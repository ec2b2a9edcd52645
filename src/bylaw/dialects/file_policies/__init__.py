"""File policies: Markdown files that say which files must change together, or what follows."""
