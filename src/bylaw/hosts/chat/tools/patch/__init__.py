"""`apply_patch`: a text in the V4A format → its sections → the changes of files."""
