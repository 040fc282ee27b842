"""Whether and when a run is tried, and the effect of an attempt on its run. Pure decisions."""
