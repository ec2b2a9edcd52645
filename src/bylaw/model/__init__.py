"""The nouns: plain frozen values that all other layers use. No I/O."""
