"""Code with side effects: reads files, starts programs, writes state."""
