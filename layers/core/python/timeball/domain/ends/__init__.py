"""The effects of a run's end on its job, on the run that waits for it, and on notices. Pure decisions."""
