"""Runs: the fire ledger, manual retry and cancel, and reports of targets."""
