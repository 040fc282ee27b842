"""The progress of jobs and runs that wait for others, and of heads with items. Pure decisions."""
