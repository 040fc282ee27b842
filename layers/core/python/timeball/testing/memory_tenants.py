"""Tenants and the holders of keys, in memory."""

from typing import TypeVar

from timeball.domain.model.tenant import KeyHolder, Tenant

_Row = TypeVar("_Row")


class MemoryTenants:
    """Keeps tenants by name, and holders by the hash of their keys."""

    def __init__(self) -> None:
        self.tenants: dict[str, Tenant] = {}
        self.holders: dict[str, KeyHolder] = {}

    def create_tenant(self, tenant: Tenant) -> bool:
        """Insert a tenant if absent."""
        return _insert(self.tenants, tenant.name, tenant)

    def create_key(self, hashed: str, holder: KeyHolder) -> bool:
        """Insert the holder of a key if absent."""
        return _insert(self.holders, hashed, holder)

    def find_holder(self, hashed: str) -> KeyHolder | None:
        """Return the holder of a key, or None if there is none."""
        return self.holders.get(hashed)


def _insert(rows: dict[str, _Row], name: str, row: _Row) -> bool:
    if name in rows:
        return False
    rows[name] = row
    return True
