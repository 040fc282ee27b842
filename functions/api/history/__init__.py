"""Who changed what: a job's revisions, and the audit log of all jobs."""
