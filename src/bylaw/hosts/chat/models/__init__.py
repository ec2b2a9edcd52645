"""Models: a request in, one turn of the assistant out."""
