"""The token of one attempt, with which its target reports without an API key, and the secrets that sign such tokens.

`tba_<tenant>_<attempt>_<signature>`: the signature covers the tenant, the run and the attempt, so nothing is stored for
it. A token grants reports on its attempt and nothing else. It does not show whether that attempt is still under way:
reports about older attempts are refused as usual.

Invariant: a rotation of the secret refuses no token of an attempt that is under way. So the newest secret signs only
after every process has read it, and the previous one is accepted for as long as the last attempt that it signed may
last.
"""

import hashlib
import hmac
import re
from dataclasses import dataclass
from typing import Final

from timeball.domain.attempts.callback import LONGEST_SECONDS
from timeball.domain.model.ids import RunId
from timeball.domain.model.tenants.tenant import TENANT_NAME
from timeball.domain.time.instants import HOUR_MS, MINUTE_MS, SECOND_MS

CALLBACK_PREFIX: Final = "tba_"

_TOKEN: Final = re.compile(rf"{CALLBACK_PREFIX}({TENANT_NAME.pattern})_([1-9][0-9]{{0,8}})_([0-9a-f]{{64}})", re.ASCII)


@dataclass(frozen=True)
class ClaimedToken:
    """The content of a token before it is verified."""

    tenant: str
    """The tenant that it claims."""
    attempt: int
    """The number of the attempt that it claims."""
    signature: str
    """The signature, in hex."""

    def is_of(self, run: RunId, secrets: tuple[str, ...]) -> bool:
        """Say whether the token was made for this attempt of a run and signed with one of the secrets."""
        return self.tenant == run.job.tenant and any(
            hmac.compare_digest(self.signature, _signature(run, self.attempt, secret)) for secret in secrets
        )


def token_of(run: RunId, attempt: int, secret: str) -> str:
    """Return the token of an attempt."""
    return f"{CALLBACK_PREFIX}{run.job.tenant}_{attempt}_{_signature(run, attempt, secret)}"


def read_token(text: str) -> ClaimedToken | None:
    """Return the content of a text that has the form of a token; None if it has another form."""
    match = _TOKEN.fullmatch(text)
    return ClaimedToken(match[1], int(match[2]), match[3]) if match else None


def _signature(run: RunId, attempt: int, secret: str) -> str:
    # Neither a tenant's name nor a run's id holds this separator.
    signed = f"{run.job.tenant}\x1f{run}\x1f{attempt}"
    return hmac.new(secret.encode(), signed.encode(), hashlib.sha256).hexdigest()


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
