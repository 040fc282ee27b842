"""Callers and tenants: `timeball.sessions`, `timeball.keys`, `timeball.tenants`, `timeball.admin`."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from timeball.client.aio.pages import AsyncPages
from timeball.client.aio.sender import AsyncSender
from timeball.client.calls import Call, matching, path_of
from timeball.client.models import (
    AdminOperationAnswer,
    KeyAnswer,
    NewKeyAnswer,
    NewSessionAnswer,
    RotationAnswer,
    SessionAnswer,
    SessionCodeAnswer,
    TenantAnswer,
    TenantDetailAnswer,
    TenantHealthAnswer,
)

RoleName = Literal["admin", "operator", "submitter", "viewer", "worker"]


@dataclass(frozen=True)
class AsyncSessions:
    """Short-lived keys of a person."""

    sender: AsyncSender

    async def create(
        self, *, code: str | None = None, allow_changes_for_seconds: int | None = None
    ) -> NewSessionAnswer:
        """Begin a session, whose key is in this answer alone; or let a session make changes for a while."""
        body = {"code": code, "allowChangesForSeconds": allow_changes_for_seconds}
        given = {name: value for name, value in body.items() if value is not None}
        # A code stands for the key; the API takes it from a caller without one.
        headers = {"Authorization": ""} if code else {}
        return NewSessionAnswer(await self.sender.json("POST", path_of("sessions"), given, headers=headers))

    async def code(self) -> SessionCodeAnswer:
        """Create a one-time code that begins a session."""
        return SessionCodeAnswer(await self.sender.json("POST", path_of("sessions", "codes")))

    async def end(self) -> SessionAnswer:
        """End the session whose key this client has."""
        return SessionAnswer(await self.sender.json("DELETE", path_of("sessions", "current")))


@dataclass(frozen=True)
class AsyncKeys:
    """API keys: of the caller's tenant, or of another one that the caller manages."""

    sender: AsyncSender

    async def create(
        self,
        role: RoleName,
        *,
        name: str | None = None,
        tags: Mapping[str, str] | None = None,
        expires_at: datetime | None = None,
        tenant: str | None = None,
    ) -> NewKeyAnswer:
        """Create a key, which is in this answer alone; with tags it is bounded to jobs that have them."""
        body = {"role": role, "name": name, "tags": tags, "expiresAt": expires_at}
        given = {field: value for field, value in body.items() if value is not None}
        return NewKeyAnswer(await self.sender.json("POST", _keys(tenant), given))

    def list(self, *, tenant: str | None = None, limit: int | None = None) -> AsyncPages[KeyAnswer]:
        """List keys, without themselves."""
        return AsyncPages(self.sender, Call("GET", _keys(tenant), query={"limit": limit}), KeyAnswer)

    async def get(self, key_id: str, *, tenant: str | None = None) -> KeyAnswer:
        """Read a key, without its secret."""
        return KeyAnswer(await self.sender.json("GET", _keys(tenant, key_id)))

    async def edit(
        self,
        key_id: str,
        changes: Mapping[str, Any],
        *,
        tenant: str | None = None,
        if_version: int | None = None,
    ) -> KeyAnswer:
        """Change the role, the name, the tags or the end of a key, by their names in the API."""
        path = _keys(tenant, key_id)
        return KeyAnswer(await self.sender.json("PATCH", path, changes, headers=matching(if_version)))

    async def revoke(self, key_id: str, *, tenant: str | None = None, if_version: int | None = None) -> KeyAnswer:
        """Revoke a key."""
        path = _keys(tenant, key_id)
        return KeyAnswer(await self.sender.json("DELETE", path, headers=matching(if_version)))

    async def rotate(
        self, key_id: str, *, overlap_seconds: int | None = None, tenant: str | None = None
    ) -> NewKeyAnswer:
        """Make a replacement of a key; both are valid for a while."""
        body = {} if overlap_seconds is None else {"overlapSeconds": overlap_seconds}
        return NewKeyAnswer(await self.sender.json("POST", _keys(tenant, key_id, "rotate"), body))


def _keys(tenant: str | None, *parts: str) -> str:
    return path_of("admin", *(() if tenant is None else ("tenants", tenant)), "keys", *parts)


@dataclass(frozen=True)
class AsyncTenants:
    """Tenants, for admins."""

    sender: AsyncSender

    async def create(
        self,
        name: str,
        *,
        weight: int | None = None,
        quotas: Mapping[str, int] | None = None,
        defaults: Mapping[str, Any] | None = None,
        disabled: bool | None = None,
    ) -> TenantAnswer:
        """Create a tenant; quotas and defaults have their names in the API."""
        body = {"name": name, "weight": weight, "quotas": quotas, "defaults": defaults, "disabled": disabled}
        given = {field: value for field, value in body.items() if value is not None}
        return TenantAnswer(await self.sender.json("POST", path_of("admin", "tenants"), given))

    def list(self, *, limit: int | None = None) -> AsyncPages[TenantAnswer]:
        """List the tenants that the caller may see, by name."""
        return AsyncPages(self.sender, Call("GET", path_of("admin", "tenants"), query={"limit": limit}), TenantAnswer)

    async def get(self, tenant: str) -> TenantDetailAnswer:
        """Read a tenant, its quotas and their use, its defaults, its share and its cost."""
        return TenantDetailAnswer(await self.sender.json("GET", path_of("admin", "tenants", tenant)))

    async def edit(self, tenant: str, changes: Mapping[str, Any], *, if_version: int | None = None) -> TenantAnswer:
        """Change `weight`, `quotas` or `defaults`, or disable a tenant, by the names in the API."""
        path = path_of("admin", "tenants", tenant)
        return TenantAnswer(await self.sender.json("PATCH", path, changes, headers=matching(if_version)))

    async def delete(self, tenant: str, *, if_version: int | None = None) -> TenantAnswer:
        """Delete a tenant that is disabled."""
        path = path_of("admin", "tenants", tenant)
        return TenantAnswer(await self.sender.json("DELETE", path, headers=matching(if_version)))

    def health(self, *, limit: int | None = None) -> AsyncPages[TenantHealthAnswer]:
        """List the tenants with what is late, held, throttled and dead."""
        call = Call("GET", path_of("admin", "health"), query={"limit": limit})
        return AsyncPages(self.sender, call, TenantHealthAnswer)


@dataclass(frozen=True)
class AsyncAdmin:
    """The deployment, for admins of the operating tenant."""

    sender: AsyncSender

    async def recover(self, since: datetime) -> AdminOperationAnswer:
        """Recover all tenants after a restore, a purge or a lost queue."""
        body = {"action": "recover", "since": since}
        return AdminOperationAnswer(await self.sender.json("POST", path_of("admin", "operations"), body))

    async def operation(self, operation_id: str) -> AdminOperationAnswer:
        """Read the progress of a recovery."""
        return AdminOperationAnswer(await self.sender.json("GET", path_of("admin", "operations", operation_id)))

    async def rotate_signing_secret(self) -> RotationAnswer:
        """Make another secret that signs the tokens of attempts."""
        return RotationAnswer(await self.sender.json("POST", path_of("admin", "signing-secret", "rotate")))
