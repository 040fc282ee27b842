"""API keys, `tb_<id>_<secret>`, and their roles. The id names the key and its tenant; the secret grants access.

A secret has 256 random bits, so a key cannot be guessed from its plain SHA-256. The digits of the id are a checksum of
the secret: a mistyped, cut or invented key is detected without a lookup in the table. Invariant: only the hash of a key
is stored, never the key, so a key cannot be read back.

Also the names of the secrets that a tenant's targets may use: they begin with the stack's prefix and the tenant's name.
Invariant: no tenant can name another tenant's secret, for a tenant's name holds no slash.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from timeball.domain.model.tenants.tenant import TENANT_NAME

KEY_PREFIX: Final = "tb_"
"""The prefix of every key, by which a key in a log or a repository is recognized."""

KEY_ID: Final = re.compile(rf"({TENANT_NAME.pattern})\.[0-9a-f]{{12}}", re.ASCII)
"""The form of a key's id: it begins with its tenant, and holds no underscore."""

_KEY: Final = re.compile(rf"{KEY_PREFIX}({KEY_ID.pattern})_([0-9a-f]{{64}})", re.ASCII)
_ID_BYTES: Final = 6
_SECRET_BYTES: Final = 32

SECRET_NAME: Final = re.compile(r"[A-Za-z0-9/_+=.@-]{1,512}", re.ASCII)
"""The form of a name in Secrets Manager."""
SECRET_PREFIX: Final = re.compile(r"([A-Za-z0-9_+=.@-]+/)+", re.ASCII)
"""The form of the prefix that all secrets share which a stack may read."""
LONGEST_PREFIX: Final = 200


class Role(StrEnum):
    """The role of a key.

    A worker may only report on runs. An operator may do everything but administer; a submitter may submit and read; a
    viewer may read.
    """

    ADMIN = "admin"
    OPERATOR = "operator"
    SUBMITTER = "submitter"
    VIEWER = "viewer"
    WORKER = "worker"

    def includes(self, other: "Role") -> bool:
        """Say whether a key of this role may do everything that a key of another role may do."""
        return other in _INCLUDED[self]


_INCLUDED = {
    Role.ADMIN: frozenset(Role),
    Role.OPERATOR: frozenset({Role.OPERATOR, Role.SUBMITTER, Role.VIEWER, Role.WORKER}),
    Role.SUBMITTER: frozenset({Role.SUBMITTER, Role.VIEWER}),
    Role.VIEWER: frozenset({Role.VIEWER}),
    Role.WORKER: frozenset({Role.WORKER}),
}


@dataclass(frozen=True)
class Key:
    """One row: everything that is stored about a key. Instants are in ms."""

    key_id: str
    """Its id, which begins with its tenant."""
    hashed: str
    """The SHA-256 of the key, in hex."""
    role: Role
    """The role that it grants."""
    created_at: int
    """When it was made."""
    name: str | None = None
    """A label for people; None: unnamed."""
    tags: Mapping[str, str] = field(default_factory=dict)
    """It sees and makes only jobs that have all of these; empty: all jobs."""
    created_by: str | None = None
    """The id of the key that made it; None: no key did."""
    expires_at: int | None = None
    """When it expires; None: never."""
    revoked_at: int | None = None
    """When it was revoked; None: it was not."""
    revision: int = 1
    """Counts the writes of the row."""

    @property
    def tenant(self) -> str:
        """The tenant that it belongs to."""
        return tenant_of(self.key_id)

    def is_valid(self, now: int) -> bool:
        """Say whether the key grants access at an instant (ms)."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


def grants_more(before: Key, after: Key) -> bool:
    """Say whether a change of a key lets it do more, see more jobs, or last longer."""
    keeps_bounds = before.tags.items() <= after.tags.items()
    ends_later = before.expires_at is not None and (after.expires_at is None or after.expires_at > before.expires_at)
    return ends_later or not keeps_bounds or not before.role.includes(after.role)


def fresh_key(tenant: str, secret: bytes) -> str:
    """Make the text of a key from 32 random bytes. Raises ValueError for fewer. It is shown once and stored nowhere.

    The id is a hash of the secret and does not reveal it.
    """
    if len(secret) != _SECRET_BYTES:
        raise ValueError(f"A key needs {_SECRET_BYTES} random bytes.")
    return f"{KEY_PREFIX}{tenant}.{_checksum(secret)}_{secret.hex()}"


def id_in(key: str) -> str | None:
    """Return the id in the text of a key; None if the text is no key, by its form or its checksum."""
    match = _KEY.fullmatch(key)
    is_key = match is not None and match[1].endswith(f".{_checksum(bytes.fromhex(match[3]))}")
    return match[1] if match and is_key else None


def tenant_of(key_id: str) -> str:
    """Return the tenant of the key with an id."""
    return key_id.partition(".")[0]


def hash_of(key: str) -> str:
    """Return the stored hash of a key."""
    return hashlib.sha256(key.encode()).hexdigest()


def prefix_of(tenant: str, prefix: str) -> str:
    """Return the prefix of the names of a tenant's secrets."""
    return f"{prefix}{tenant}/"


def may_name(name: str, tenant: str, prefix: str) -> bool:
    """Say whether a tenant's targets may name a secret."""
    own = prefix_of(tenant, prefix)
    return SECRET_NAME.fullmatch(name) is not None and name.startswith(own) and len(name) > len(own)


def _checksum(secret: bytes) -> str:
    return hashlib.blake2b(secret, digest_size=_ID_BYTES, person=b"timeball-key-id").hexdigest()
