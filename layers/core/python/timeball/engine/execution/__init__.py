"""From a message to the end of an attempt."""
