"""The nouns: plain frozen values that every other layer speaks of. No I/O."""
