"""Whether Timeball does what it promises: its health, what is overdue, and counts of a few minutes."""
