"""What the API answers about tenants and keys. A key itself stands in the answer that made it alone."""

from collections.abc import Mapping
from types import MappingProxyType

from pydantic import Field

from functions.api.admin.quotas import QuotasAnswer, Used, quotas_answer
from functions.api.http.reply import Answer, Time, time_of
from functions.api.stats.costs import CostsAnswer
from timeball.domain.model.tenants.key import Key
from timeball.domain.model.tenants.quotas import Quotas
from timeball.domain.model.tenants.role import Role
from timeball.domain.model.tenants.tenant import Tenant
from timeball.domain.time.instants import format_instant


class TenantAnswer(Answer):
    """A tenant."""

    name: str
    weight: int
    quotas: QuotasAnswer
    disabled: bool
    disabled_at: Time | None
    created_at: Time
    version: int = Field(description="Counts the changes; the ETag.")


class TenantDetailAnswer(TenantAnswer):
    """A tenant, with what it gets and has cost."""

    share: float | None = Field(
        description="Which part of the dispatches it gets at the least, while all tenants contend that are not "
        "disabled; null: it is disabled."
    )
    cost: CostsAnswer


class TenantPageAnswer(Answer):
    """A page of tenants, by name."""

    items: list[TenantAnswer]
    next_cursor: str | None


class KeyAnswer(Answer):
    """An API key, without itself."""

    key_id: str
    tenant: str
    name: str | None
    role: Role
    tags: Mapping[str, str] = Field(description="It sees and makes only jobs that have all of these.")
    created_at: Time
    created_by: str | None = Field(description="The id of the key that made it.")
    expires_at: Time | None
    revoked_at: Time | None
    version: int = Field(description="Counts the changes; the ETag.")


class NewKeyAnswer(KeyAnswer):
    """A key that was made just now."""

    key: str = Field(description="The key itself: shown now and never again.")


class KeyPageAnswer(Answer):
    """A page of keys, by id."""

    items: list[KeyAnswer]
    next_cursor: str | None


def tenant_answer(tenant: Tenant, of_all: Quotas, used: Used = MappingProxyType({})) -> TenantAnswer:
    """Return the answer about a tenant, given the quotas of the settings, and what is used of its own."""
    return TenantAnswer(
        name=tenant.name,
        weight=tenant.weight,
        quotas=quotas_answer(tenant.quotas.over(of_all), used),
        disabled=tenant.disabled_at is not None,
        disabled_at=time_of(tenant.disabled_at),
        created_at=format_instant(tenant.created_at),
        version=tenant.revision,
    )


def key_answer(key: Key, text: str | None = None) -> KeyAnswer:
    """Return the answer about a key, with its text if it was made just now."""
    answer = KeyAnswer(
        key_id=key.key_id,
        tenant=key.tenant,
        name=key.name,
        role=key.role,
        tags=key.tags,
        created_at=format_instant(key.created_at),
        created_by=key.created_by,
        expires_at=time_of(key.expires_at),
        revoked_at=time_of(key.revoked_at),
        version=key.revision,
    )
    return answer if text is None else NewKeyAnswer(**dict(answer), key=text)
