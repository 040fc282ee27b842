"""How jobs and runs go on that wait for others, or stand for several. Pure decisions."""
