"""Tasks: registered work that jobs name. request.py says what a task may look like."""
