"""A job's terms: its target, the times at which it may be called, the jobs it waits for, and the limits it shares."""
