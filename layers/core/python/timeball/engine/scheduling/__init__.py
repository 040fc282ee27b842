"""From a job to the row of its next fire, and to a message."""
