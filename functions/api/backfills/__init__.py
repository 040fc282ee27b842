"""Backfills: a past range of a job's fires, run again."""
