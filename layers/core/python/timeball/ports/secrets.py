"""Secrets of users, which Timeball reads and never shows."""

from collections.abc import Sequence
from typing import Protocol


class SecretUnreadableError(Exception):
    """A secret cannot be read at present; the message says why, as the end of a sentence."""


class Secrets(Protocol):
    """The store of secrets, outside of Timeball's own tables."""

    def live_values(self, name: str) -> Sequence[str]:
        """Return the values of a secret that are live: the current one, and the previous one if it still is.

        Raises SecretUnreadableError, and UnavailableError if the outcome is unknown.
        """
