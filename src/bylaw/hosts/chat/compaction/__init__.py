"""`<compact>` in a ChatMD file: old messages go to an archive, a summary takes their place.

`keep` says what stays (`keeping`). Of the rest, `relevance` picks what is worth staying word for
word, and `summary` puts one message in the place of what goes. With a model that can be asked both
are asked of it (`judge`, `summary`); without one both are computed (`overlap`, `extract`).
"""
