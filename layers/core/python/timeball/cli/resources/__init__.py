"""Commands about what jobs share: tasks, calendars, freezes, limits."""
