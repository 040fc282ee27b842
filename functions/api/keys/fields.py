"""The limits that a job names by a key; its runs share their slots and rate tokens with those of other jobs."""

import re
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field, WithJsonSchema

from functions.api.http.reply import AnswerModel
from functions.api.http.request_model import Strict
from timeball.domain.model.terms import flow
from timeball.domain.model.terms.flow import OnFull

MOST_AT_ONCE: Final = 1_000
"""The row of a limit lists the holders of its slots, so it bounds them."""
FLOW_KEY: Final = re.compile(r"[A-Za-z0-9_.:-]{1,128}")
WHAT_A_KEY_IS: Final = "Give 1 to 128 letters, digits, or any of - _ . and :"


def _flow_key(text: str) -> str:
    if not FLOW_KEY.fullmatch(text):
        raise ValueError(WHAT_A_KEY_IS)
    return text


FlowKey = Annotated[
    str,
    AfterValidator(_flow_key),
    WithJsonSchema({"type": "string", "pattern": f"^{FLOW_KEY.pattern}$", "examples": ["warehouse-db"]}),
]
PerSecond = Annotated[float, Field(ge=0.001, le=1_000)]


class ConcurrencyKeyField(Strict):
    """A limit of runs at once, over all jobs of the tenant that name the key."""

    key: FlowKey = Field(description="The key of the limit; see `GET /v1/keys/{key}`.")
    limit: int = Field(ge=1, le=MOST_AT_ONCE, description="The most runs under way at once.")
    on_full: Literal["wait", "skip"] = Field(
        "wait", description="A run that finds no free slot waits, by priority and fire time, or is skipped."
    )


class RateKeyField(Strict):
    """A limit of calls a second, over all jobs of the tenant that name the key."""

    key: FlowKey = Field(description="The key of the limit; see `GET /v1/keys/{key}`.")
    per_second: PerSecond = Field(
        description="The most calls that begin in a second; they are spread evenly, except for bursts."
    )
    burst: int = Field(1, ge=1, le=MOST_AT_ONCE, description="The most calls that begin at once.")


class KeyFields(Strict):
    """The limits that the runs of a job share."""

    concurrency_key: ConcurrencyKeyField | None = Field(None, description="The limit of runs at once.")
    rate_key: RateKeyField | None = Field(None, description="The limit of calls a second.")


class ConcurrencyKeyAnswer(AnswerModel):
    """A limit of runs at once."""

    key: str = Field(description="The key of the limit.")
    limit: int = Field(description="The most runs under way at once, as the job states it.")
    on_full: OnFull = Field(description="The policy for a run that finds no free slot.")


class RateKeyAnswer(AnswerModel):
    """A limit of calls a second."""

    key: str = Field(description="The key of the limit.")
    per_second: float = Field(description="The most calls that begin in a second, as the job states it.")
    burst: int = Field(description="The most calls that begin at once, as the job states it.")


class KeysAnswer(AnswerModel):
    """The limits that the runs of a job share."""

    concurrency_key: ConcurrencyKeyAnswer | None = Field(description="The limit of runs at once.")
    rate_key: RateKeyAnswer | None = Field(description="The limit of calls a second.")


def keys_of(request: KeyFields) -> tuple[flow.ConcurrencyKey | None, flow.RateKey | None]:
    """Return the limits that a valid request names."""
    concurrency, rate = request.concurrency_key, request.rate_key
    return (
        None
        if concurrency is None
        else flow.ConcurrencyKey(concurrency.key, concurrency.limit, OnFull(concurrency.on_full)),
        None if rate is None else flow.RateKey(rate.key, rate.per_second, rate.burst),
    )


def key_documents(said: flow.Flow) -> dict[str, Any]:
    """Return the limits that a job names, in the form of requests and answers."""
    concurrency, rate = said.concurrency, said.rate
    return {
        "concurrencyKey": None
        if concurrency is None
        else {"key": concurrency.key, "limit": concurrency.limit, "onFull": concurrency.on_full.value},
        "rateKey": None if rate is None else {"key": rate.key, "perSecond": rate.per_second, "burst": rate.burst},
    }
