"""The secrets with which Timeball signs what it gives to targets."""

from typing import Protocol

from timeball.domain.attempts.signing_secrets import SigningSecrets


class Signing(Protocol):
    """The same secrets for all processes. Both methods raise UnavailableError."""

    def secrets(self, fresh: str) -> SigningSecrets:
        """Return the secrets that are stored: `fresh` alone if there was none yet."""

    def rotate(self, fresh: str, now: int) -> SigningSecrets:
        """Make `fresh` the newest secret, unless the one before is still accepted. Return what stands then."""
