"""The models of answers about tenants and keys. Only the answer that creates a key contains the key itself."""

from collections.abc import Mapping
from types import MappingProxyType

from pydantic import Field

from timeball.api.admin.quotas import QuotasAnswer, Used, quotas_answer
from timeball.api.http.exchange import AnswerModel, CreatedAt, NextCursor, Time, Version, time_of
from timeball.api.stats.costs import CostsAnswer
from timeball.domain.model.tenants.key import Key, Role
from timeball.domain.model.tenants.tenant import Quotas, Tenant
from timeball.domain.time.instants import format_instant


class TenantAnswer(AnswerModel):
    """A tenant."""

    name: str = Field(description="The name of the tenant.")
    weight: int = Field(description="Its share of dispatches relative to other tenants, where tenants contend.")
    quotas: QuotasAnswer = Field(description="The quotas of the tenant.")
    disabled: bool = Field(description="Whether it is disabled: nothing of it starts.")
    disabled_at: Time | None = Field(description="When it was disabled; null unless it is disabled.")
    created_at: CreatedAt
    version: Version


class TenantDetailAnswer(TenantAnswer):
    """A tenant with its share of dispatches and its costs."""

    share: float | None = Field(
        description=(
            "The least fraction of dispatches that it gets while all enabled tenants contend; null if it is disabled."
        )
    )
    cost: CostsAnswer = Field(description="What its runs and requests have cost.")


class TenantPageAnswer(AnswerModel):
    """A page of tenants, by name."""

    items: list[TenantAnswer] = Field(description="The tenants.")
    next_cursor: NextCursor


class KeyAnswer(AnswerModel):
    """An API key without the key itself."""

    key_id: str = Field(description="The id of the key.")
    tenant: str = Field(description="The tenant that it belongs to.")
    name: str | None = Field(description="A name for people.")
    role: Role = Field(description="What the key may do.")
    tags: Mapping[str, str] = Field(description="The key sees and creates only jobs that have all of these tags.")
    created_at: CreatedAt
    created_by: str | None = Field(description="The id of the key that created it.")
    expires_at: Time | None = Field(description="When it expires; null: never.")
    revoked_at: Time | None = Field(description="When it was revoked; null if it was not.")
    version: Version


class NewKeyAnswer(KeyAnswer):
    """A new key."""

    key: str = Field(description="The key itself, which no later answer shows.")


class KeyPageAnswer(AnswerModel):
    """A page of keys, by id."""

    items: list[KeyAnswer] = Field(description="The keys.")
    next_cursor: NextCursor


def tenant_answer(tenant: Tenant, of_all: Quotas, used: Used = MappingProxyType({})) -> TenantAnswer:
    """Return the answer about a tenant, from the quotas of the settings and the use of its own."""
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
    """Return the answer about a key, with its text if it is new."""
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
