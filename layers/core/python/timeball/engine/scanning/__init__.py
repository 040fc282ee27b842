"""Find what is due, and advance it."""
