"""What keeps fires of jobs away: calendars and freezes, changed by users, and read by whoever plans or claims."""
