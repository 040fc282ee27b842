"""The verbs of the flow, one file each. Every verb takes a list and returns a list."""
