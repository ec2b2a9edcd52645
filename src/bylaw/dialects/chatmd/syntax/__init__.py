"""The syntax of ChatMD: text → tree with exact spans, without loss, and tree → text."""
