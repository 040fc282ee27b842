"""A user's change of a job, and the reconciliation of its runs."""
