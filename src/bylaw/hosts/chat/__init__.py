"""The world of a ChatMD file: a chat with a model, in which every block is written down."""
