"""Schedules: their fields in requests, and previews."""
