"""How it stands with a bus, for whoever only looks."""
