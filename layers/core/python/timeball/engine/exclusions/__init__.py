"""Blackouts of jobs' fires: calendars and freezes. Users change them; plans and claims read them."""
