"""`apply_patch`: a text in the format V4A → what it says → what files will hold → the changes."""
