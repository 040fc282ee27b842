"""Bulk operations go through the jobs that match."""
