"""Events: the patterns by which jobs run on them, and how they are sent."""
