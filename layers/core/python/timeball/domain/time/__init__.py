"""Time: instants, cron expressions and time zones, schedules and their fires."""
