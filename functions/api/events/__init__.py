"""Events: what lets jobs run that have a pattern of them, and how they are sent."""
