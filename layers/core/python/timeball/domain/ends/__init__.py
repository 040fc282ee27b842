"""What the end of a run means for others: its job, the run behind it, those who are told. Pure decisions."""
