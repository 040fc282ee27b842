"""Commands that take work from a queue."""
