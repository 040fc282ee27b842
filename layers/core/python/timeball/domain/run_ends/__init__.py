"""What the end of a run requires: its effects, and notices about it."""
