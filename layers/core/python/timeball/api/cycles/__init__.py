"""The cycles of graphs: read all runs of one fire time, and run them again."""
