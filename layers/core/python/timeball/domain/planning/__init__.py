"""Which row a fire gets: planned, missed, kept away or taken together with others. Pure decisions."""
