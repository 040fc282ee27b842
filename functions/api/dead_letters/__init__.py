"""Dead letters: runs that failed for good, listed, replayed, discarded."""
