"""Backfills, and how many backfills of a tenant run at once."""
