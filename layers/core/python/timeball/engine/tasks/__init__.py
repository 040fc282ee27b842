"""Tasks: changed by users, and read for the jobs that name them."""
