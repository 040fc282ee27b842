"""A job, how it begins and ends, and how users change it."""
