"""Jobs that wait for jobs: when their parents are evaluated, and how children are notified."""
