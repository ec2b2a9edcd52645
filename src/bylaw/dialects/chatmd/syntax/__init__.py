"""ChatMD as text: scanned without loss into a tree with exact spans, and written back."""
