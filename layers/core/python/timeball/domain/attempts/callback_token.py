"""The token of one attempt: with it a target reports on that attempt and on nothing else, without an API key.

`tba_<tenant>_<attempt>_<signature>`: the signature covers the tenant, the run and the attempt, so nothing is stored for
it. A token does not show whether its attempt is still under way: reports about older attempts are refused as usual.
"""

import hashlib
import hmac
import re
from dataclasses import dataclass
from typing import Final

from timeball.domain.model.ids import RunId
from timeball.domain.model.tenants.tenant import TENANT_NAME

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
