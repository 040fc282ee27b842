"""Statistics: a tenant's jobs and runs as a whole."""
