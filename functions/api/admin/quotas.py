"""What a tenant may take and has taken, as its admins read it."""

from collections.abc import Mapping

from pydantic import Field

from functions.api.http.edge import Edge
from functions.api.http.reply import Answer
from timeball.domain.model.tenants.quotas import Quotas
from timeball.engine.stats.quotas import used_of_quotas

Used = Mapping[str, int]
"""How much of each quota is used, by the name of its field; what is left out is not counted."""


class QuotaAnswer(Answer):
    """One quota."""

    limit: int | None = Field(description="Its own, or else what the settings say; null: no bound.")
    used: int | None = Field(
        description="How much of it is used now, of jobs an estimate where they are tens of thousands; null: not told "
        "here, or nothing that adds up."
    )


class QuotasAnswer(Answer):
    """The quotas of a tenant."""

    active_jobs: QuotaAnswer
    submits_per_second: QuotaAnswer
    runs_per_second: QuotaAnswer
    runs_at_once: QuotaAnswer
    least_period_seconds: QuotaAnswer
    payload_bytes: QuotaAnswer
    running_backfills: QuotaAnswer
    event_patterns: QuotaAnswer
    requests_per_second: QuotaAnswer
    runs_created_per_minute: QuotaAnswer


def quotas_answer(quotas: Quotas, used: Used) -> QuotasAnswer:
    """Return what is told of quotas, those of the settings among them."""

    def one(name: str) -> QuotaAnswer:
        return QuotaAnswer(limit=getattr(quotas, name) or None, used=used.get(name))

    return QuotasAnswer(**{name: one(name) for name in QuotasAnswer.model_fields})


def read_use(edge: Edge, tenant: str, own: Quotas) -> Used:
    """Read how much a tenant has taken of each quota. Raises UnavailableError."""
    return used_of_quotas(edge.context, tenant, own.over(edge.context.rules.quotas))
