"""Checks of how the code reads: its prose, its names and its complexity. `make check` runs them."""
