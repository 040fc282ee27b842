"""Freezes: the fires of many jobs do not start for a while."""
