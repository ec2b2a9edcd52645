"""`<compact>` in a ChatMD file: move old messages to archives and replace them by a summary.

The attribute `keep` says which messages stay. Of the others, the strategy `relevance` selects those
that stay word for word, and the strategy `summary` replaces the rest by one message. If there is a
model to ask, it gives the scores and writes the summary; else both are computed.
"""
