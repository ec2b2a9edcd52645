"""The files of a bus: its folders, messages, claims and evidence."""
