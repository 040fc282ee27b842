"""Users' changes of jobs and tasks, and the values that a run uses. Pure decisions."""
