"""Tenants and API keys, in memory."""

from operator import attrgetter

from timeball.domain.model.tenants.key import Key, tenant_of
from timeball.domain.model.tenants.tenant import Tenant
from timeball.ports.collections.tenants import Tenants
from timeball.testing.memory_rows import Memory, MemoryRows


class MemoryTenantRows(MemoryRows[str, Tenant]):
    """The tenants."""

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory, attrgetter("name"))

    def listed(self, after: str, limit: int) -> list[Tenant]:
        """Return tenants after a name."""
        return [self[name] for name in sorted(self) if name > after][:limit]


class MemoryKeyRows(MemoryRows[str, Key]):
    """The API keys."""

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory, attrgetter("key_id"))

    def of_tenant(self, tenant: str, after: str, limit: int) -> list[Key]:
        """Return a tenant's API keys after an id."""
        return [self[key_id] for key_id in sorted(self) if tenant_of(key_id) == tenant and key_id > after][:limit]


class MemoryTenants(Tenants):
    """The tenants and the API keys of one table, and the authorizer's query."""

    tenants: MemoryTenantRows
    keys: MemoryKeyRows

    def __init__(self) -> None:
        memory = Memory()
        super().__init__(MemoryTenantRows(memory), MemoryKeyRows(memory))

    def find_holder(self, key_id: str) -> tuple[Tenant | None, Key | None]:
        """Return an API key and its tenant."""
        return self.tenants.get(tenant_of(key_id)), self.keys.get(key_id)
