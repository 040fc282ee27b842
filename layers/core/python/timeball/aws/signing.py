"""Signature Version 4 as AWS documents it, for a JSON request, with all headers and a key that is made once a day.

It needs no library of AWS. tests/contract/wire/test_signing.py compares the signatures with botocore's own.
"""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache

_ALGORITHM = "AWS4-HMAC-SHA256"


@dataclass(frozen=True)
class Credentials:
    """The caller's credentials, with a token if they are temporary."""

    key_id: str
    secret: str
    token: str | None = None


@dataclass(frozen=True)
class Scope:
    """The region and the service of a signature."""

    region: str
    service: str


def signed(
    headers: Mapping[str, str], body: bytes, credentials: Credentials, scope: Scope, at: float
) -> dict[str, str]:
    """Return headers with a signature of an instant (s). Their names are in lower case, `host` is among them."""
    moment = datetime.fromtimestamp(at, UTC).strftime("%Y%m%dT%H%M%SZ")
    full = {**headers, "x-amz-date": moment}
    if credentials.token:
        full["x-amz-security-token"] = credentials.token
    names = sorted(full)
    listed = ";".join(names)
    lines = "".join([f"{name}:{' '.join(full[name].split())}\n" for name in names])
    canonical = f"POST\n/\n\n{lines}\n{listed}\n{hashlib.sha256(body).hexdigest()}"
    where = f"{moment[:8]}/{scope.region}/{scope.service}/aws4_request"
    to_sign = f"{_ALGORITHM}\n{moment}\n{where}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    signature = _hmac(_key(credentials.secret, moment[:8], scope), to_sign).hex()
    full["authorization"] = (
        f"{_ALGORITHM} Credential={credentials.key_id}/{where}, SignedHeaders={listed}, Signature={signature}"
    )
    return full


@lru_cache(maxsize=16)
def _key(secret: str, day: str, scope: Scope) -> bytes:
    key = f"AWS4{secret}".encode()
    for part in (day, scope.region, scope.service, "aws4_request"):
        key = _hmac(key, part)
    return key


def _hmac(key: bytes, text: str) -> bytes:
    return hmac.digest(key, text.encode(), "sha256")
