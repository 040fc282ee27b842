"""A tenant's quotas and what it uses of them, as its admins read them."""

from collections.abc import Mapping

from pydantic import Field

from timeball.api.http.edge import ApiContext
from timeball.api.http.exchange import AnswerModel
from timeball.domain.model.tenants.tenant import Quotas
from timeball.engine.stats import used_of_quotas

Used = Mapping[str, int]
"""How much of each quota is used, by the name of its field; a quota that is missing is not counted."""


class QuotaAnswer(AnswerModel):
    """A quota."""

    limit: int | None = Field(description="The tenant's own bound, or that of the settings; null: no bound.")
    used: int | None = Field(
        description=(
            "How much of it is used now; for tens of thousands of jobs an estimate. Null if it is not counted "
            "or not shown here."
        )
    )


class QuotasAnswer(AnswerModel):
    """The quotas of a tenant."""

    active_jobs: QuotaAnswer = Field(description="Open jobs.")
    submits_per_second: QuotaAnswer = Field(description="Jobs and events submitted in a second.")
    runs_per_second: QuotaAnswer = Field(description="Attempts that begin in a second.")
    runs_at_once: QuotaAnswer = Field(description="Runs under way at once.")
    least_period_seconds: QuotaAnswer = Field(description="The least seconds between two fires of a job.")
    payload_bytes: QuotaAnswer = Field(description="The bytes of a payload.")
    running_backfills: QuotaAnswer = Field(description="Backfills that run at once.")
    event_patterns: QuotaAnswer = Field(description="Distinct event patterns of its jobs.")
    requests_per_second: QuotaAnswer = Field(
        description="Requests in a second that each process of the authorizer admits."
    )
    runs_created_per_minute: QuotaAnswer = Field(description="Runs that events and fan-outs create in a minute.")


def quotas_answer(quotas: Quotas, used: Used) -> QuotasAnswer:
    """Return the answer about quotas, which include those of the settings."""

    def one(name: str) -> QuotaAnswer:
        return QuotaAnswer(limit=getattr(quotas, name) or None, used=used.get(name))

    return QuotasAnswer(**{name: one(name) for name in QuotasAnswer.model_fields})


def read_use(edge: ApiContext, tenant: str, own: Quotas) -> Used:
    """Read how much of each quota a tenant uses. Raises UnavailableError."""
    return used_of_quotas(edge.context, tenant, own.over(edge.context.rules.quotas))
