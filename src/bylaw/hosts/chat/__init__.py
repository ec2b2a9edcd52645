"""The chat host: one conversation with a model, in a ChatMD file that gets every block."""
