"""Models of all providers: each turns a request into one turn of the assistant."""
