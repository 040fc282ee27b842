"""The secret with which Timeball signs what it gives to targets."""

from typing import Protocol


class Signing(Protocol):
    """One secret for all processes. It never changes."""

    def secret(self, fresh: str) -> str:
        """Return the secret that is stored, which is `fresh` if there was none yet. Raises UnavailableError."""
