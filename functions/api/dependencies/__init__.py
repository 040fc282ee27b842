"""Jobs that depend on jobs: what a request may say of that, and the graph that comes of it."""
