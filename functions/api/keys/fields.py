"""Keys that a job may name, by which its runs share places and turns with those of other jobs."""

import re
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field, WithJsonSchema

from functions.api.http.reply import Answer
from functions.api.http.request_model import Strict
from timeball.domain.model.terms import flow
from timeball.domain.model.terms.flow import OnFull

MOST_AT_ONCE: Final = 1_000
"""A row names who has a place."""
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


class ConcurrencyKey(Strict):
    """So many runs at once, over all jobs of the tenant that name the key."""

    key: FlowKey = Field(description="What it is called; see `GET /v1/keys/{key}`.")
    limit: int = Field(ge=1, le=MOST_AT_ONCE, description="So many runs may be under way at once.")
    on_full: Literal["wait", "skip"] = Field(
        "wait", description="A run that finds no place waits, by priority and fire time; or it is skipped."
    )


class RateKey(Strict):
    """So many calls a second, over all jobs of the tenant that name the key."""

    key: FlowKey = Field(description="What it is called; see `GET /v1/keys/{key}`.")
    per_second: PerSecond = Field(description="So many calls may begin in a second: evenly, but for bursts.")
    burst: int = Field(1, ge=1, le=MOST_AT_ONCE, description="So many of them may begin at once.")


class KeyFields(Strict):
    """What a job says of how its runs share what they call."""

    concurrency_key: ConcurrencyKey | None = Field(None, description="How many runs are under way at once.")
    rate_key: RateKey | None = Field(None, description="How many calls begin in a second.")


class ConcurrencyKeyAnswer(Answer):
    """A key that allows so many runs at once."""

    key: str
    limit: int
    on_full: OnFull


class RateKeyAnswer(Answer):
    """A key that allows so many calls a second."""

    key: str
    per_second: float
    burst: int


class KeysAnswer(Answer):
    """What a job says of how its runs share what they call."""

    concurrency_key: ConcurrencyKeyAnswer | None
    rate_key: RateKeyAnswer | None


def keys_of(request: KeyFields) -> tuple[flow.ConcurrencyKey | None, flow.RateKey | None]:
    """Return the keys that a faultless request names."""
    concurrency, rate = request.concurrency_key, request.rate_key
    return (
        None
        if concurrency is None
        else flow.ConcurrencyKey(concurrency.key, concurrency.limit, OnFull(concurrency.on_full)),
        None if rate is None else flow.RateKey(rate.key, rate.per_second, rate.burst),
    )


def key_documents(said: flow.Flow) -> dict[str, Any]:
    """Return the keys that a job names, as a request says them, and an answer tells them."""
    concurrency, rate = said.concurrency, said.rate
    return {
        "concurrencyKey": None
        if concurrency is None
        else {"key": concurrency.key, "limit": concurrency.limit, "onFull": concurrency.on_full.value},
        "rateKey": None if rate is None else {"key": rate.key, "perSecond": rate.per_second, "burst": rate.burst},
    }
