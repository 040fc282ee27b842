"""Calendars: dates on which the jobs that name them do not fire."""
