"""A user's change of a job, and its runs brought in line."""
