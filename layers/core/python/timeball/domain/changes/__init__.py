"""What users may change of jobs and tasks, and what a run uses of all of it. Pure decisions."""
