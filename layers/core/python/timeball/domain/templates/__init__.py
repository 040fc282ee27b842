"""What a target may ask to be filled in, and how each value is escaped for where it stands: pure."""
