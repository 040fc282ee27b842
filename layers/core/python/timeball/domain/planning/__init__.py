"""The row for a fire: planned, missed, deferred, or collected with others. Pure decisions."""
