"""Secrets of users, which Timeball reads and nobody else is shown."""

from collections.abc import Sequence
from typing import Protocol


class SecretUnreadableError(Exception):
    """A secret cannot be read as things stand; the message says why, as the end of a sentence."""


class Secrets(Protocol):
    """Where secrets are kept, outside of Timeball's own tables."""

    def live_values(self, name: str) -> Sequence[str]:
        """Return the values of a secret that are live: the current one, and the one before it if that still is.

        Raises SecretUnreadableError, and UnavailableError if nobody knows.
        """
