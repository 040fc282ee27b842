"""Schedules: what a request may say about when, and previews of it."""
