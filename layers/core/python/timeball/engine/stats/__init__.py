"""What is told of a tenant's jobs and runs as a whole, and how that is counted."""
