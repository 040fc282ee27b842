"""Statistics of all jobs and runs of a tenant."""
