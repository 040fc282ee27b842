"""Whether and when a run is tried, and what an attempt makes of it. Pure decisions."""
