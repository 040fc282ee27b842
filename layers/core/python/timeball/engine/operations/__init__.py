"""Bulk operations, which apply one action to all matching jobs."""
