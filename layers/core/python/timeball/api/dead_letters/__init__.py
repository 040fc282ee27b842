"""Dead letters: list, replay and discard runs that failed for good."""
