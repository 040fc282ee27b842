"""Tasks: registered work that jobs name. request.py describes what a request for a task may contain."""
