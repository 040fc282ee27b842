"""The secrets that sign the tokens of attempts: the newest one, and the one before it while its tokens are in use.

Invariant: a rotation refuses no token of an attempt that is under way. So the newest secret signs only after every
process has read it, and the one before is accepted for as long as the last attempt that it signed may last.
"""

from dataclasses import dataclass
from typing import Final

from timeball.domain.attempts.callback import LONGEST_SECONDS
from timeball.domain.time.instants import HOUR_MS, MINUTE_MS, SECOND_MS

SIGNS_AFTER_MS: Final = 5 * MINUTE_MS
"""How long after a rotation the newest secret signs: by then each process has read it."""
ACCEPTED_MS: Final = LONGEST_SECONDS * SECOND_MS + HOUR_MS
"""How long after a rotation the secret before is accepted. The hour is for the call itself, and for wrong clocks."""


@dataclass(frozen=True)
class SigningSecrets:
    """What stands of the secrets. `rotated_at` (ms) is when `newest` took the place of `before`."""

    newest: str
    before: str | None = None
    rotated_at: int = 0

    def signing(self, now: int) -> str:
        """Return the secret that signs."""
        is_known = now >= self.rotated_at + SIGNS_AFTER_MS
        return self.newest if self.before is None or is_known else self.before

    def accepted(self, now: int) -> tuple[str, ...]:
        """Return the secrets whose tokens are accepted."""
        is_in_use = now < self.rotated_at + ACCEPTED_MS
        return (self.newest, self.before) if self.before is not None and is_in_use else (self.newest,)


def rotated(secrets: SigningSecrets, fresh: str, now: int) -> SigningSecrets | None:
    """Return the secrets with a fresh one; None while tokens of the one before are accepted, for it would be lost."""
    return None if len(secrets.accepted(now)) > 1 else SigningSecrets(fresh, secrets.newest, now)
