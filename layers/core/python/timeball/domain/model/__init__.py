"""The values: jobs, runs, and their parts."""
