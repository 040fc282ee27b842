"""Changes by users: a job's revisions, and the list of all changes in a tenant."""
