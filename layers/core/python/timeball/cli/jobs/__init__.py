"""Commands about jobs and their runs."""
