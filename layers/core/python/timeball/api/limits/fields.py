"""The limits that a job names; its runs share their slots and rate tokens with those of other jobs."""

import re
from typing import Annotated, Final

from pydantic import Field

from timeball.api.http.exchange import AnswerModel
from timeball.api.http.fields import Checked
from timeball.api.http.request_model import ByValue, Strict
from timeball.domain.model.terms.flow import OnFull

MOST_AT_ONCE: Final = 1_000
"""The row of a limit lists the holders of its slots, so it bounds them."""
LIMIT_NAME: Final = re.compile(r"[A-Za-z0-9_.:-]{1,128}")
WHAT_A_NAME_IS: Final = "Give 1 to 128 letters, digits, or any of - _ . and :"


LimitName = Annotated[
    str,
    Checked(LIMIT_NAME.fullmatch, WHAT_A_NAME_IS, pattern=f"^{LIMIT_NAME.pattern}$", examples=["warehouse-db"]),
]
PerSecond = Annotated[float, Field(ge=0.001, le=1_000)]


class ConcurrencyLimitField(Strict):
    """A limit of runs at once, over all jobs of the tenant that name it."""

    name: LimitName = Field(description="The name of the limit; see `GET /v1/limits/{name}`.")
    limit: int = Field(ge=1, le=MOST_AT_ONCE, description="The most runs under way at once.")
    on_full: Annotated[OnFull, ByValue] = Field(
        OnFull.WAIT, description="A run that finds no free slot waits, by priority and fire time, or is skipped."
    )


class RateLimitField(Strict):
    """A limit of calls a second, over all jobs of the tenant that name it."""

    name: LimitName = Field(description="The name of the limit; see `GET /v1/limits/{name}`.")
    per_second: PerSecond = Field(
        description="The most calls that begin in a second; they are spread evenly, except for bursts."
    )
    burst: int = Field(1, ge=1, le=MOST_AT_ONCE, description="The most calls that begin at once.")


class LimitFields(Strict):
    """The limits that the runs of a job share."""

    concurrency_limit: ConcurrencyLimitField | None = Field(None, description="The limit of runs at once.")
    rate_limit: RateLimitField | None = Field(None, description="The limit of calls a second.")


class ConcurrencyLimitAnswer(AnswerModel):
    """A limit of runs at once."""

    name: str = Field(description="The name of the limit.")
    limit: int = Field(description="The most runs under way at once, as the job states it.")
    on_full: OnFull = Field(description="The policy for a run that finds no free slot.")


class RateLimitAnswer(AnswerModel):
    """A limit of calls a second."""

    name: str = Field(description="The name of the limit.")
    per_second: float = Field(description="The most calls that begin in a second, as the job states it.")
    burst: int = Field(description="The most calls that begin at once, as the job states it.")


class LimitsAnswer(AnswerModel):
    """The limits that the runs of a job share."""

    concurrency_limit: ConcurrencyLimitAnswer | None = Field(description="The limit of runs at once.")
    rate_limit: RateLimitAnswer | None = Field(description="The limit of calls a second.")
