"""Blackouts: the calendars and freezes that keep jobs from firing."""
