"""The secrets that sign the tokens of attempts: the newest, and the previous one while its tokens are in use.

Invariant: a rotation refuses no token of an attempt that is under way. So the newest secret signs only after every
process has read it, and the previous one is accepted for as long as the last attempt that it signed may last.
"""

from dataclasses import dataclass
from typing import Final

from timeball.domain.attempts.callback import LONGEST_SECONDS
from timeball.domain.time.instants import HOUR_MS, MINUTE_MS, SECOND_MS

SIGNS_AFTER_MS: Final = 5 * MINUTE_MS
"""How long after a rotation the newest secret begins to sign: by then each process has read it."""
ACCEPTED_MS: Final = LONGEST_SECONDS * SECOND_MS + HOUR_MS
"""How long after a rotation the previous secret is accepted. The hour covers the call itself, and inaccurate clocks."""


@dataclass(frozen=True)
class SigningSecrets:
    """The stored secrets."""

    newest: str
    """The newest secret."""
    before: str | None = None
    """The previous secret; None: there was no rotation."""
    rotated_at: int = 0
    """When `newest` replaced `before` (ms)."""

    def signing(self, now: int) -> str:
        """Return the secret that signs at an instant (ms)."""
        is_known = now >= self.rotated_at + SIGNS_AFTER_MS
        return self.newest if self.before is None or is_known else self.before

    def accepted(self, now: int) -> tuple[str, ...]:
        """Return the secrets whose tokens are accepted at an instant (ms)."""
        is_in_use = now < self.rotated_at + ACCEPTED_MS
        return (self.newest, self.before) if self.before is not None and is_in_use else (self.newest,)


def rotated(secrets: SigningSecrets, fresh: str, now: int) -> SigningSecrets | None:
    """Return the secrets with a fresh one; None while tokens of the previous one are accepted, for it would be lost."""
    return None if len(secrets.accepted(now)) > 1 else SigningSecrets(fresh, secrets.newest, now)
