"""Tenants and their API keys, in a separate table: a process that may write jobs must not be able to make keys."""

from dataclasses import dataclass
from typing import Protocol

from timeball.domain.model.tenants.key import Key
from timeball.domain.model.tenants.tenant import Tenant
from timeball.ports.rows import Rows


class TenantRows(Rows[str, Tenant], Protocol):
    """The tenants, by name. A deleted tenant keeps its row."""

    def listed(self, after: str, limit: int) -> list[Tenant]:
        """Return up to `limit` tenants in the order of their names, after a name."""


class KeyRows(Rows[str, Key], Protocol):
    """The API keys, by id. A revoked key keeps its row."""

    def of_tenant(self, tenant: str, after: str, limit: int) -> list[Key]:
        """Return up to `limit` keys of a tenant in the order of their ids, after an id."""


@dataclass(frozen=True)
class Tenants:
    """The rows of tenants and of API keys."""

    tenants: TenantRows
    """The tenants."""
    keys: KeyRows
    """Their API keys."""


class Holders(Protocol):
    """The query of the authorizer."""

    def find_holder(self, key_id: str) -> tuple[Tenant | None, Key | None]:
        """Return a key and its tenant as they are now, in one request. Raises UnavailableError."""
