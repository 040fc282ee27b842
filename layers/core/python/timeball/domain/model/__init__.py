"""The values: jobs, runs, and what they are made of."""
