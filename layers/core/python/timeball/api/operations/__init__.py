"""Bulk operations: one action on all jobs that match."""
