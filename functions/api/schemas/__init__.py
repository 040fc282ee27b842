"""What a task says of its jobs' payloads: which schemas are accepted, and which payloads fit one."""
