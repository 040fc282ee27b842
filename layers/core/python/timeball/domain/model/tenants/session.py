"""Sessions: a short-lived stand-in for an API key, for a person at a screen. The key itself need not be kept there.

A session belongs to one API key, has its tenant and its tags, and ends with it at the latest. One row holds the
session from its first moment to its last:

* *offered*: a one-time code may begin it, for ten minutes;
* *open*: its session key reads, for eight hours, as long as no hour passes without a request. A second session key,
  which its holder asks for, has the role of the API key for half an hour at most. This guards against slips and not
  against theft: a thief of the session key may ask for it too;
* *ended*: by its holder, or by time.

A session's id begins with the id of its API key, so one read of three rows finds the session, the key and the tenant.
Invariants: only hashes of session keys and codes are stored. A code never authorizes a request; it begins one session,
once. A session has no rights that its API key does not have now.
"""

import hashlib
import hmac
import re
from dataclasses import dataclass
from typing import Final

from timeball.domain.model.evolve import evolve
from timeball.domain.model.tenants.key import KEY_ID, Key, Role, hash_of
from timeball.domain.time.instants import HOUR_MS, MINUTE_MS, SECOND_MS

LASTS_MS: Final = 8 * HOUR_MS
IDLE_MS: Final = HOUR_MS
CODE_LASTS_MS: Final = 10 * MINUTE_MS
LONGEST_CHANGES_SECONDS: Final = 1800
USE_NOTED_EVERY_MS: Final = 3 * MINUTE_MS
"""A use is noted only if the last noted one is this old, so that few requests write."""

SESSION_PREFIX: Final = "tbs_"
"""The prefix of every session key."""
CODE_PREFIX: Final = "tbc_"
"""The prefix of every one-time code."""

_ID: Final = rf"{KEY_ID.pattern}\.[0-9a-f]{{12}}"
_SESSION_KEY: Final = re.compile(rf"{SESSION_PREFIX}(?P<id>{_ID})_(?P<secret>[0-9a-f]{{64}})([0-9a-f]{{8}})", re.ASCII)
_CODE: Final = re.compile(rf"{CODE_PREFIX}(?P<id>{_ID})_(?P<secret>[0-9a-f]{{32}})([0-9a-f]{{8}})", re.ASCII)
_ID_BYTES: Final = 6
_SESSION_KEY_BYTES: Final = 32
_CODE_BYTES: Final = 16


@dataclass(frozen=True)
class Session:
    """One row: everything that is stored about a session. Instants are in ms; a hash is empty until there is one."""

    session_id: str
    """Its id, which begins with the id of its API key."""
    created_at: int
    """When it was made, or offered."""
    expires_at: int
    """When it ends, or while it is offered, when its code ends."""
    used_at: int
    """When it was last used, to within a few minutes."""
    hashed: str = ""
    """The SHA-256 of its session key."""
    code_hashed: str = ""
    """The SHA-256 of the code that begins it."""
    changes_hashed: str = ""
    """The SHA-256 of the session key that has the role of the API key."""
    changes_until: int = 0
    """Until when that session key works."""
    ended_at: int | None = None
    """When its holder ended it; None: no one did."""
    revision: int = 1
    """Counts the writes of the row."""

    @property
    def key_id(self) -> str:
        """The id of its API key."""
        return key_id_of(self.session_id)

    def is_open(self, now: int) -> bool:
        """Say whether it has begun, and is neither ended, nor expired, nor idle for too long."""
        return bool(self.hashed) and self.ended_at is None and now < min(self.expires_at, self.used_at + IDLE_MS)

    def allows_changes(self, now: int) -> bool:
        """Say whether its session key with the role of the API key works."""
        return self.is_open(now) and now < self.changes_until


def role_of(session: Session, key: Key, hashed: str, now: int) -> Role | None:
    """Return the role that a session key, given by its hash, has now; None if it has none."""
    if not key.is_valid(now) or not session.is_open(now):
        return None
    if hmac.compare_digest(session.changes_hashed, hashed):
        return key.role if session.allows_changes(now) else None
    is_reader = hmac.compare_digest(session.hashed, hashed) and key.role.includes(Role.VIEWER)
    return Role.VIEWER if is_reader else None


def has_session_key(session: Session, hashed: str) -> bool:
    """Say whether a hash is that of a session key of a session, whether or not it still works."""
    return hmac.compare_digest(session.hashed, hashed) or hmac.compare_digest(session.changes_hashed, hashed)


def offered(session_id: str, code: str, now: int) -> Session:
    """Return a session that a one-time code may begin."""
    return Session(session_id, now, now + CODE_LASTS_MS, now, code_hashed=hash_of(code))


def begun(session: Session, session_key: str, key: Key, now: int) -> Session:
    """Return a session as its session key opens it; no code begins it again."""
    ends_at = min(now + LASTS_MS, key.expires_at or now + LASTS_MS)
    return evolve(session, hashed=hash_of(session_key), code_hashed="", used_at=now, expires_at=ends_at)


def is_offer(session: Session, code: str, now: int) -> bool:
    """Say whether a code begins a session."""
    is_standing = session.ended_at is None and now < session.expires_at
    return is_standing and hmac.compare_digest(session.code_hashed, hash_of(code))


def with_changes(session: Session, session_key: str, seconds: int, now: int) -> Session:
    """Return a session whose second session key has the role of the API key, in place of an earlier one."""
    until = min(now + seconds * SECOND_MS, session.expires_at)
    return evolve(session, changes_hashed=hash_of(session_key), changes_until=until, used_at=now)


def used(session: Session, now: int) -> Session | None:
    """Return a session with its use noted; None if a use was noted lately."""
    return evolve(session, used_at=now) if now >= session.used_at + USE_NOTED_EVERY_MS else None


def fresh_session_id(key_id: str, random: bytes) -> str:
    """Make the id of a session of an API key from random bytes, of which the last six count."""
    return f"{key_id}.{random[-_ID_BYTES:].hex()}"


def fresh_session_key(session_id: str, secret: bytes) -> str:
    """Make the text of a session key from 32 random bytes. Raises ValueError for fewer. It is shown once."""
    return _text(SESSION_PREFIX, session_id, secret, _SESSION_KEY_BYTES)


def fresh_code(session_id: str, secret: bytes) -> str:
    """Make the text of a one-time code from 16 random bytes. Raises ValueError for fewer. It is shown once."""
    return _text(CODE_PREFIX, session_id, secret, _CODE_BYTES)


def session_in(session_key: str) -> str | None:
    """Return the id in the text of a session key; None if it is none, by its form or its checksum."""
    return _id_in(_SESSION_KEY, session_key)


def session_of_code(code: str) -> str | None:
    """Return the id of the session that a code may begin; None if it is no code, by its form or its checksum."""
    return _id_in(_CODE, code)


def key_id_of(session_id: str) -> str:
    """Return the id of the API key of the session with an id."""
    return session_id.rpartition(".")[0]


def _text(prefix: str, session_id: str, secret: bytes, length: int) -> str:
    if len(secret) != length:
        raise ValueError(f"This needs {length} random bytes.")
    return f"{prefix}{session_id}_{secret.hex()}{_checksum(session_id, secret.hex())}"


def _id_in(pattern: re.Pattern[str], text: str) -> str | None:
    match = pattern.fullmatch(text)
    if match is None or not text.endswith(_checksum(match["id"], match["secret"])):
        return None
    return match["id"]


def _checksum(session_id: str, secret: str) -> str:
    """Return a checksum, by which a mistyped or invented text is refused without a read."""
    return hashlib.blake2b(f"{session_id}_{secret}".encode(), digest_size=4, person=b"timeball-session").hexdigest()
