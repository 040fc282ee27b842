"""API keys: `tb_<id>_<secret>`. The id names the key and its tenant; the secret opens.

A secret has 256 random bits, so a plain SHA-256 of a key cannot be guessed. The digits of the id are a checksum of the
secret: a key that was mistyped, cut or made up is known for none without a look into the table. Invariant: what is
stored is the hash of a key, and never the key: nobody can read one back.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from timeball.domain.model.tenants.role import Role
from timeball.domain.model.tenants.tenant import TENANT_NAME

KEY_PREFIX: Final = "tb_"
"""What every key begins with, so that one in a log or a repository is known for what it is."""

KEY_ID: Final = re.compile(rf"({TENANT_NAME.pattern})\.[0-9a-f]{{12}}", re.ASCII)
"""What the id of a key looks like: it begins with its tenant, and holds no underscore."""

_KEY: Final = re.compile(rf"{KEY_PREFIX}({KEY_ID.pattern})_([0-9a-f]{{64}})", re.ASCII)
_ID_BYTES: Final = 6
_SECRET_BYTES: Final = 32


@dataclass(frozen=True)
class Key:
    """What is known of a key: whose it is, its hash, what it may do, and until when (ms; None: for good).

    With `tags` it sees and makes only jobs that have all of these. `created_by` is the id of the key that made it.
    """

    key_id: str
    hashed: str
    role: Role
    created_at: int
    name: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    created_by: str | None = None
    expires_at: int | None = None
    revoked_at: int | None = None
    revision: int = 1

    @property
    def tenant(self) -> str:
        """Whose it is."""
        return tenant_of(self.key_id)

    def is_valid(self, now: int) -> bool:
        """Say whether the key opens anything at an instant."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


def grants_more(before: Key, after: Key) -> bool:
    """Say whether a change of a key lets it do more, see more jobs, or last longer."""
    keeps_bounds = before.tags.items() <= after.tags.items()
    ends_later = before.expires_at is not None and (after.expires_at is None or after.expires_at > before.expires_at)
    return ends_later or not keeps_bounds or not before.role.includes(after.role)


def fresh_key(tenant: str, secret: bytes) -> str:
    """Make the text of a key from 32 random bytes. Raises ValueError for fewer. It is shown once, and stored nowhere.

    The id is a hash of the secret, and tells nothing of it.
    """
    if len(secret) != _SECRET_BYTES:
        raise ValueError(f"A key needs {_SECRET_BYTES} random bytes.")
    return f"{KEY_PREFIX}{tenant}.{_checksum(secret)}_{secret.hex()}"


def id_in(key: str) -> str | None:
    """Return the id that the text of a key holds, or None if it is no key: its checksum is wrong, or its form."""
    match = _KEY.fullmatch(key)
    is_key = match is not None and match[1].endswith(f".{_checksum(bytes.fromhex(match[3]))}")
    return match[1] if match and is_key else None


def tenant_of(key_id: str) -> str:
    """Return the tenant whose key has an id."""
    return key_id.partition(".")[0]


def hash_of(key: str) -> str:
    """Return what is stored of a key."""
    return hashlib.sha256(key.encode()).hexdigest()


def _checksum(secret: bytes) -> str:
    return hashlib.blake2b(secret, digest_size=_ID_BYTES, person=b"timeball-key-id").hexdigest()
