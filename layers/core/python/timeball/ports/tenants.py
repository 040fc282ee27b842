"""Tenants and their API keys, in a separate table: a process that may write jobs must not be able to make keys."""

from dataclasses import dataclass
from typing import Protocol

from timeball.domain.model.tenants.key import Key
from timeball.domain.model.tenants.session import Session
from timeball.domain.model.tenants.tenant import Tenant
from timeball.ports.rows import NamedRows, Rows

ALL = ""
"""The owner of all tenants."""


@dataclass(frozen=True)
class Tenants:
    """The rows of tenants and of API keys."""

    tenants: NamedRows[str, str, Tenant]
    """The tenants by name; the owner is `ALL`. A deleted tenant keeps its row."""
    keys: NamedRows[str, str, Key]
    """The API keys of each tenant, by id. A revoked key keeps its row."""
    sessions: Rows[str, Session]
    """The sessions of API keys, by id. A session's row is removed a while after its end."""


class Holders(Protocol):
    """The queries of the authorizer, and the one thing that it writes."""

    def find_holder(self, key_id: str) -> tuple[Tenant | None, Key | None]:
        """Return a key and its tenant as they are now, in one request. Raises UnavailableError."""

    def find_session(self, session_id: str) -> tuple[Tenant | None, Key | None, Session | None]:
        """Return a session, its API key and its tenant as they are now, in one request. Raises UnavailableError."""

    def note_use(self, before: Session, after: Session, now: int) -> None:
        """Store a session with its use noted, unless its row has changed meanwhile. Raises UnavailableError."""
