"""What a schedule, a job and a run are, and every decision about them. Pure: no I/O, no clock, no AWS."""
