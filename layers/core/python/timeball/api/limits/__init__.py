"""Limits that jobs share by name: how many runs at once, or calls a second, they allow; their holders and waiters."""
