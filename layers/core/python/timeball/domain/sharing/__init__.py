"""Who may take what others want too: places, turns, quotas. Pure decisions."""
