"""Jobs: created, read, changed, triggered. request.py says what a job may look like."""
