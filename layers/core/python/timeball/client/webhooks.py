"""Reads and verifies the calls that Timeball makes to a webhook, by Standard Webhooks."""

import base64
import binascii
import hmac
import json
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from timeball.client.errors import NotVerified
from timeball.client.values.encoding import UNSET, Unset

TOLERANCE_SECONDS = 300.0
"""How much older or younger than now a signed call may be."""

_PREFIX = "whsec_"

Headers = Mapping[str, str] | Iterable[tuple[str | bytes, str | bytes]]
"""The headers of a request, as a framework gives them."""


@dataclass(frozen=True)
class Delivery:
    """A call of Timeball, as it came."""

    run_id: str
    job_id: str
    attempt: int
    """1 for the first try of the run."""
    fire_time: datetime
    """The instant that the run stands for."""
    scheduled_by: str
    """Why the run exists: `schedule`, `manual`, `backfill`, `dependency` or `event`."""
    tenant: str
    task_id: str | None
    depth: int
    """How many calls of Timeball led to this one."""
    body: bytes = field(repr=False)
    """The body as it came."""
    verified: bool
    """Whether a signature was verified; False if `secret` was left out."""
    token: str | None = field(repr=False)
    """The token with which this attempt is reported; None if the job takes no callbacks."""

    @property
    def payload(self) -> Any:  # noqa: ANN401 - whatever JSON the job has
        """The parsed body; None if there is none."""
        return json.loads(self.body) if self.body else None

    @property
    def idempotency_key(self) -> str:
        """The same for every attempt of the run: a program that has stored it has done the work already."""
        return self.run_id


def read_delivery(
    headers: Headers,
    body: bytes | str,
    secret: str | Sequence[str] | Unset,
    *,
    now: float | None = None,
    tolerance_seconds: float = TOLERANCE_SECONDS,
) -> Delivery:
    """Return a call whose signature is of one of the secrets; raise NotVerified if none is, or if it is too old.

    With `UNSET` for the secret the call is read, and says that it was not verified. Any other empty secret is a
    ValueError: a variable that is not set must let no forged call pass. `now` is in seconds since 1970.
    """
    found, content = _lower(headers), body.encode() if isinstance(body, str) else body
    secrets = _secrets(secret)
    if secrets:
        _verify(found, content, [_key(one) for one in secrets], time.time() if now is None else now, tolerance_seconds)
    try:
        return Delivery(
            run_id=found["timeball-run-id"],
            job_id=found["timeball-job-id"],
            attempt=int(found["timeball-attempt"]),
            fire_time=datetime.fromisoformat(found["timeball-fire-time"]),
            scheduled_by=found["timeball-scheduled-by"],
            tenant=found["timeball-tenant"],
            task_id=found.get("timeball-task-id"),
            depth=int(found.get("timeball-depth", "0")),
            body=content,
            verified=bool(secrets),
            token=found.get("timeball-callback-token"),
        )
    except KeyError as missing:
        raise NotVerified(f"This is no call of Timeball: it has no header {missing}.") from None
    except ValueError:
        raise NotVerified("This is no call of Timeball: its attempt or its fire time cannot be read.") from None


def _verify(headers: Mapping[str, str], body: bytes, keys: Sequence[bytes], now: float, tolerance: float) -> None:
    """Raise NotVerified unless a signature is of a key, and fresh."""
    run, sent_at = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    given = headers.get("webhook-signature", "").encode("latin-1", "replace").split()
    if not (run and sent_at and given):
        raise NotVerified("The call is not signed: it lacks webhook-id, webhook-timestamp or webhook-signature.")
    # int() raises an error of its own for thousands of digits.
    if not re.fullmatch("[0-9]{1,20}", sent_at) or abs(now - int(sent_at)) > tolerance:
        raise NotVerified(f"The call is older or younger than {tolerance:g} s by this machine's clock.")
    signed = f"{run}.{sent_at}.".encode() + body
    wanted = [b"v1," + base64.b64encode(hmac.digest(key, signed, "sha256")) for key in keys]
    if not any(hmac.compare_digest(one, signature) for one in wanted for signature in given):
        raise NotVerified("No signature of the call is of this secret.")
    if headers.get("timeball-run-id") != run:
        raise NotVerified("The signed run is not the one that the call names.")


def _secrets(secret: str | Sequence[str] | Unset) -> Sequence[str]:
    """Return the secrets, of which `UNSET` has none."""
    if secret is UNSET:
        return ()
    secrets = [secret] if isinstance(secret, str) else list(secret or ())
    if not secrets or not all(secrets):
        raise ValueError("The secret is empty: give it, or leave `secret` out to read the call without a verification.")
    return secrets


def _key(secret: str) -> bytes:
    """Return the key in a secret; the error does not quote it."""
    try:
        key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except binascii.Error:
        key = b""
    if not secret.startswith(_PREFIX) or not key:
        raise ValueError("A secret is whsec_ and base64, as it stands in AWS Secrets Manager.")
    return key


def _lower(headers: Headers) -> dict[str, str]:
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    return {_text(name).lower(): _text(value) for name, value in pairs}


def _text(part: str | bytes) -> str:
    return part if isinstance(part, str) else part.decode("latin-1")
