"""Create, advance and cancel backfills, and share out their slots."""
