"""Limits that jobs share by a key: how many runs at once, or calls a second, they allow; their holders and waiters."""
