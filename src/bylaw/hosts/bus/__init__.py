"""A bus of messages and a watched tree → events, and what rules want of them, carried out."""
