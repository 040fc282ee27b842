"""Runs: the fire ledger, retry and cancel by hand, and what targets report."""
