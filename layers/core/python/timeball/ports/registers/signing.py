"""The secrets with which Timeball signs the tokens that it gives to targets."""

from typing import Protocol

from timeball.domain.attempts.signing_secrets import SigningSecrets


class SigningSecretStore(Protocol):
    """The same secrets for all processes. Both methods raise UnavailableError."""

    def secrets(self, fresh: str) -> SigningSecrets:
        """Return the stored secrets; `fresh` alone if there were none."""

    def rotate(self, fresh: str, now: int) -> SigningSecrets:
        """Make `fresh` the newest secret, unless the previous one is still accepted. Return the secrets after that."""
