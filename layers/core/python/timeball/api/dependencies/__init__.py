"""Jobs that depend on jobs: their requests, and their graph."""
