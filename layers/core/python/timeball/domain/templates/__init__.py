"""Templates of targets: the values that may be filled in, and how each value is escaped for its context. Pure."""
