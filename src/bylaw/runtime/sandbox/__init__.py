"""Run commands under limits: check, start, limit, isolate and end them."""
