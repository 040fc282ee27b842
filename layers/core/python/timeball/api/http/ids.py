"""Ids of new resources: random, or a hash of the Idempotency-Key, so that a repeat names the same resource."""

import hashlib
from typing import Final

from timeball.domain.model.ids import JobKey

ID_BYTES: Final = 16

_CROCKFORD: Final = "0123456789abcdefghjkmnpqrstvwxyz"


def job_id(bits: bytes) -> str:
    """Return the job id of 16 bytes: `job_` and 26 characters of Crockford's base 32, which has no look-alikes."""
    return f"job_{_letters(bits)}"


def task_id(bits: bytes) -> str:
    """Return the task id of 16 bytes, in the form of a job id."""
    return f"task_{_letters(bits)}"


def task_id_of_key(tenant: str, idempotency_key: str) -> str:
    """Return the id of the task that a tenant creates under an Idempotency-Key."""
    parts = f"{tenant}\x1f{idempotency_key}"
    digest = hashlib.blake2b(parts.encode(), digest_size=ID_BYTES, person=b"timeball-task-id")
    return task_id(digest.digest())


def event_id(bits: bytes) -> str:
    """Return the event id of 16 bytes, in the form of a job id."""
    return f"evt_{_letters(bits)}"


def event_id_of_key(tenant: str, idempotency_key: str) -> str:
    """Return the id of the event that a tenant sends under an Idempotency-Key."""
    parts = f"{tenant}\x1f{idempotency_key}"
    digest = hashlib.blake2b(parts.encode(), digest_size=ID_BYTES, person=b"timeball-eventid")
    return event_id(digest.digest())


def operation_id(bits: bytes) -> str:
    """Return the operation id of 16 bytes, in the form of a job id."""
    return f"op_{_letters(bits)}"


def operation_id_of_key(tenant: str, idempotency_key: str) -> str:
    """Return the id of the operation that a tenant creates under an Idempotency-Key."""
    parts = f"{tenant}\x1f{idempotency_key}"
    digest = hashlib.blake2b(parts.encode(), digest_size=ID_BYTES, person=b"timeball-operat.")
    return operation_id(digest.digest())


def backfill_name(bits: bytes) -> str:
    """Return the backfill name of 16 bytes: 26 characters, which are also part of the ids of the backfill's runs."""
    return _letters(bits)


def job_id_of_key(tenant: str, idempotency_key: str) -> str:
    """Return the id of the job that a tenant creates under an Idempotency-Key."""
    # Neither part can contain the separator: a tenant's name is printable, a key is visible ASCII.
    digest = hashlib.blake2b(f"{tenant}\x1f{idempotency_key}".encode(), digest_size=ID_BYTES, person=b"timeball-job-id")
    return job_id(digest.digest())


def backfill_name_of_key(job: JobKey, idempotency_key: str) -> str:
    """Return the name of the backfill of a job that its tenant creates under an Idempotency-Key."""
    parts = f"{job.tenant}\x1f{job.job_id}\x1f{idempotency_key}"
    digest = hashlib.blake2b(parts.encode(), digest_size=ID_BYTES, person=b"timeball-backfil")
    return backfill_name(digest.digest())


def freeze_id(bits: bytes) -> str:
    """Return the freeze id of 16 bytes, in the form of a job id."""
    return f"frz_{_letters(bits)}"


def freeze_id_of_key(tenant: str, idempotency_key: str) -> str:
    """Return the id of the freeze that a tenant creates under an Idempotency-Key."""
    parts = f"{tenant}\x1f{idempotency_key}"
    return freeze_id(hashlib.blake2b(parts.encode(), digest_size=ID_BYTES, person=b"timeball-freeze").digest())


def fingerprint(canonical_body: bytes) -> str:
    """Return a digest that identifies the body of a request."""
    return hashlib.blake2b(canonical_body, digest_size=ID_BYTES).hexdigest()


def _letters(bits: bytes) -> str:
    number = int.from_bytes(bits[:ID_BYTES])
    digits = (ID_BYTES * 8 + 4) // 5
    return "".join(_CROCKFORD[number >> 5 * digit & 31] for digit in reversed(range(digits)))
