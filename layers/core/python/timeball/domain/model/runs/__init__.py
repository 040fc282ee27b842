"""A run, its attempts, and the moves that they may make."""
