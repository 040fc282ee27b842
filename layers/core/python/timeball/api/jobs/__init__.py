"""Jobs: created, read, changed, triggered. request.py describes what a request for a job may contain."""
