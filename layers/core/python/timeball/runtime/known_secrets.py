"""The signing secrets as one process knows them: read when a token needs them, and again after a while.

Invariant: a process never uses secrets that it read `SIGNS_AFTER_MS` ago or earlier, so it knows each secret before
that secret signs.
"""

from collections.abc import Callable
from typing import Final

from timeball.domain.attempts.signing_secrets import SIGNS_AFTER_MS, SigningSecrets
from timeball.domain.time.instants import MINUTE_MS
from timeball.ports.clock import Clock
from timeball.ports.errors import UnavailableError
from timeball.ports.registers.signing import SigningSecretStore

KEPT_MS: Final = MINUTE_MS
"""How long the secrets are used before they are read again."""
KEPT_UNANSWERED_MS: Final = SIGNS_AFTER_MS - MINUTE_MS
"""How long the secrets are used while the store does not answer. The minute allows for clocks that differ."""


class KnownSecrets:
    """The secrets of a process, for signing and verifying tokens; `draw` returns a secret that no other process has."""

    def __init__(self, signing: SigningSecretStore, clock: Clock, draw: Callable[[], str]) -> None:
        self._signing, self._clock, self._draw = signing, clock, draw
        self._read: tuple[int, SigningSecrets] | None = None

    def signing(self) -> str:
        """Return the secret that signs. Raises UnavailableError."""
        return self._known().signing(self._clock.now())

    def accepted(self) -> tuple[str, ...]:
        """Return the secrets whose tokens are accepted. Raises UnavailableError."""
        return self._known().accepted(self._clock.now())

    def _known(self) -> SigningSecrets:
        now = self._clock.now()
        if self._read is not None and now < self._read[0] + KEPT_MS:
            return self._read[1]
        try:
            secrets = self._signing.secrets(self._draw())
        except UnavailableError:
            if self._read is not None and now < self._read[0] + KEPT_UNANSWERED_MS:
                return self._read[1]
            raise
        self._read = now, secrets
        return secrets
