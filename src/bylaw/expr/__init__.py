"""Guards, conditions and templates: text → tree → checked tree → function."""
