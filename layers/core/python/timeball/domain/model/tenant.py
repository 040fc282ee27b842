"""Tenants, and the keys by which their callers are known.

A key has 256 random bits, so a plain SHA-256 of it cannot be guessed. Invariant: what is stored is the hash of a key,
and never the key: nobody can read one back.
"""

import hashlib
import re
from dataclasses import dataclass
from typing import Final

KEY_PREFIX: Final = "tb_"
"""What every key begins with, so that one in a log or a repository is known for what it is."""

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
_SECRET_BYTES: Final = 32


@dataclass(frozen=True)
class Tenant:
    """Who owns jobs."""

    name: str
    created_at: int


@dataclass(frozen=True)
class KeyHolder:
    """Whom a key belongs to, and until when (ms; None: for good). `key_id` names it in logs and lists."""

    tenant: str
    key_id: str
    created_at: int
    expires_at: int | None = None
    disabled: bool = False

    def is_valid(self, now: int) -> bool:
        """Say whether the key opens anything at an instant."""
        return not self.disabled and (self.expires_at is None or now < self.expires_at)


@dataclass(frozen=True)
class IssuedKey:
    """A new key. `key` is shown to its owner now and never again; its holder is stored under `hashed`."""

    key: str
    hashed: str
    holder: KeyHolder


def new_tenant(name: str, now: int) -> Tenant:
    """Make a tenant. Raises ValueError for an impossible name."""
    if not _NAME.fullmatch(name):
        raise ValueError("A tenant's name has 1 to 64 letters, digits, hyphens and underscores.")
    return Tenant(name, now)


def issue_key(tenant: str, secret: bytes, now: int, expires_at: int | None = None) -> IssuedKey:
    """Make a key of a tenant from 32 random bytes. Raises ValueError for fewer."""
    if len(secret) < _SECRET_BYTES:
        raise ValueError(f"A key needs {_SECRET_BYTES} random bytes.")
    key = KEY_PREFIX + secret.hex()
    hashed = hash_of(key)
    return IssuedKey(key, hashed, KeyHolder(tenant, f"key_{hashed[:16]}", now, expires_at))


def hash_of(key: str) -> str:
    """Return the hash under which a key's holder is stored."""
    return hashlib.sha256(key.encode()).hexdigest()
