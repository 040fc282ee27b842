"""Tenants, and who holds an API key."""

from typing import Protocol

from timeball.domain.model.tenant import KeyHolder, Tenant


class Tenants(Protocol):
    """Tenants, and the holders of API keys by the hash of each key. One at a time: a request brings one key."""

    def create_tenant(self, tenant: Tenant) -> bool:
        """Insert a tenant if absent; False: there is one of that name."""

    def create_key(self, hashed: str, holder: KeyHolder) -> bool:
        """Insert the holder of a key if absent; False: that hash has a holder."""

    def find_holder(self, hashed: str) -> KeyHolder | None:
        """Return the holder of a key, valid or not, or None if there is none. A key may be unknown when it is new."""
