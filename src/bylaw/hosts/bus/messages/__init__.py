"""The files of a bus: folders, messages, who has one, and evidence of what became of it."""
