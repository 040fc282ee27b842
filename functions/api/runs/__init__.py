"""Runs: the fire ledger, manual retry and cancel, and what targets report."""
