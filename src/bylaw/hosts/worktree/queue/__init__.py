"""The entries of policies as files: what stands in one, its life, the folder that all share."""
