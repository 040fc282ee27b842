"""Freezes: for a while the fires of many jobs do not start."""
