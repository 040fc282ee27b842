"""Targets: what a request may say of what is called, how that is told again, and what is refused."""
