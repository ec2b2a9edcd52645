"""Books × session × event → decision, or the facts that it needs. Pure."""
