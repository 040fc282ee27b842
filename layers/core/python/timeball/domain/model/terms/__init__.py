"""What a user says of a job: what it calls, when that may be, whom it waits for, and what it shares."""
