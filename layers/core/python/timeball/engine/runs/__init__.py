"""What is done about single runs: sending, ending, trying again."""
