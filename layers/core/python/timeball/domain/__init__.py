"""Schedules, jobs and runs, and every decision about them. Pure: no I/O, no clock, no AWS."""
