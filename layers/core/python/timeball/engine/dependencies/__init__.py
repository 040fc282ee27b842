"""Jobs that wait for jobs: how they get parents, when these are evaluated, and how children are woken."""
