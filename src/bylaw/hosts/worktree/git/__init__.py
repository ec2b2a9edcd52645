"""Git → what is in a repository and how it differs, by as few processes as can be."""
