"""What became of each message, in a database that outlives every process."""
