"""Tenants and their keys, in a table of their own: whoever may write jobs may make no keys."""

from dataclasses import dataclass
from typing import Protocol

from timeball.domain.model.tenants.key import Key
from timeball.domain.model.tenants.tenant import Tenant
from timeball.ports.collections.rows import Rows


class TenantRows(Rows[str, Tenant], Protocol):
    """The tenants, by their names. One that is deleted keeps its row."""

    def listed(self, after: str, limit: int) -> list[Tenant]:
        """Return up to `limit` tenants behind a name, in the order of their names."""


class KeyRows(Rows[str, Key], Protocol):
    """The keys, by their ids. One that is revoked keeps its row."""

    def of_tenant(self, tenant: str, after: str, limit: int) -> list[Key]:
        """Return up to `limit` keys of a tenant behind an id, in the order of their ids."""


@dataclass(frozen=True)
class Tenants:
    """The rows of tenants, and those of keys."""

    tenants: TenantRows
    keys: KeyRows


class Holders(Protocol):
    """What the authorizer asks."""

    def find_holder(self, key_id: str) -> tuple[Tenant | None, Key | None]:
        """Return a key and its tenant as they are now, in one request. Raises UnavailableError."""
