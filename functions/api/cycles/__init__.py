"""The cycles of graphs: all runs of one fire time, in one call; and how they are run again."""
