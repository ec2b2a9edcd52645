"""The tools that the model and the rules of a chat can call."""
