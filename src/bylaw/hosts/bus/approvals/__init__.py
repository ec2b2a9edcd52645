"""What people said of a message: found, asked for, shown, written, and taken back."""
