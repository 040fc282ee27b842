"""Targets that are resources of AWS: which may be called, with what, and what an answer means."""
