"""Jobs that wait for jobs: who is looked at when, and by whom they are told."""
