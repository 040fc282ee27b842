"""Backfills, and how many of a tenant run at once."""
