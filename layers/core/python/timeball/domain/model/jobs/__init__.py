"""A job, how it begins and ends, and what users change of it."""
