"""Ids of jobs: random, or the hash of an Idempotency-Key, so that the same request names the same job."""

import hashlib
from typing import Final

ID_BYTES: Final = 16

_CROCKFORD: Final = "0123456789abcdefghjkmnpqrstvwxyz"


def job_id(bits: bytes) -> str:
    """Return the id of 16 bytes: `job_` and 26 characters of Crockford's base 32: no look-alikes."""
    number = int.from_bytes(bits[:ID_BYTES])
    digits = (ID_BYTES * 8 + 4) // 5
    return "job_" + "".join(_CROCKFORD[number >> 5 * place & 31] for place in reversed(range(digits)))


def job_id_of_key(tenant: str, idempotency_key: str) -> str:
    """Return the id of the job that a tenant creates under an Idempotency-Key."""
    # Neither part can hold the separator: a tenant's name is printable, a key is visible ASCII.
    digest = hashlib.blake2b(f"{tenant}\x1f{idempotency_key}".encode(), digest_size=ID_BYTES, person=b"timeball-job-id")
    return job_id(digest.digest())


def fingerprint(canonical_body: bytes) -> str:
    """Return a digest by which a repeated request is known."""
    return hashlib.blake2b(canonical_body, digest_size=ID_BYTES).hexdigest()
