"""Pure decisions about jobs and runs."""
