"""Rule languages: text → Book + diagnostics. They never import one another."""
