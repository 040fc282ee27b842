"""Backfills: run the fires of a past range again."""
