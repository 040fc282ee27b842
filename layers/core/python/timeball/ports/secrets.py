"""Secrets: those of users, which Timeball reads and never shows, and those with which it signs its own tokens."""

from collections.abc import Sequence
from typing import Protocol

from timeball.domain.attempts.callback_token import SigningSecrets


class SecretUnreadableError(Exception):
    """A secret cannot be read at present; the message says why, as the end of a sentence."""


class Secrets(Protocol):
    """The store of secrets, outside of Timeball's own tables."""

    def live_values(self, name: str) -> Sequence[str]:
        """Return the values of a secret that are live: the current one, and the previous one if it still is.

        Raises SecretUnreadableError, and UnavailableError if the outcome is unknown.
        """


class SigningSecretStore(Protocol):
    """The same secrets for all processes. Both methods raise UnavailableError."""

    def secrets(self, fresh: str) -> SigningSecrets:
        """Return the stored secrets; `fresh` alone if there were none."""

    def rotate(self, fresh: str, now: int) -> SigningSecrets:
        """Make `fresh` the newest secret, unless the previous one is still accepted. Return the secrets after that."""
