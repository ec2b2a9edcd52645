"""The impure shell: whatever reads files, asks the world or changes it."""
