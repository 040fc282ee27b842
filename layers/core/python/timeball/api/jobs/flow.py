"""Flow control in requests and answers: unique keys, collected triggers, superseding runs."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import Field

from timeball.api.http.fields import Name
from timeball.api.http.problems import FieldError
from timeball.api.http.request_model import stated
from timeball.api.limits import LimitFields, LimitsAnswer
from timeball.domain.model.terms.flow import ConcurrencyLimit, Debounce, Flow, RateLimit, Unique

LONGEST_WINDOW_SECONDS: Final = 2_592_000
LONGEST_WAIT_SECONDS: Final = 86_400
_WAITS: Final = 10
"""The default of the longest wait, as a multiple of the wait."""

FLOW_NEEDS: Final[Mapping[str, tuple[str, ...]]] = {
    "uniqueSeconds": ("uniqueKey",),
    "debounceMaxSeconds": ("debounceSeconds",),
}
"""Fields that are only valid beside another."""


class FlowFields(LimitFields):
    """A job's flow control."""

    unique_key: Name | None = Field(
        None,
        description=(
            "While a job holds this key, a submit with the same key answers 200 with that job and creates none."
        ),
    )
    unique_seconds: int | None = Field(
        None,
        ge=1,
        le=LONGEST_WINDOW_SECONDS,
        description="How many seconds from the first submit a job holds the key; default: until it has ended.",
    )
    debounce_seconds: int | None = Field(
        None,
        ge=1,
        le=LONGEST_WAIT_SECONDS,
        description=(
            "Triggers, or submits under `uniqueKey`, share one run, which starts after so many seconds without another."
        ),
    )
    debounce_max_seconds: int | None = Field(
        None,
        ge=1,
        le=LONGEST_WAIT_SECONDS,
        description="The most seconds from the first trigger to that start; default ten times `debounceSeconds`.",
    )
    supersede: bool | None = Field(
        None, description="Whether a newer run replaces one that has not started; default false."
    )


class FlowAnswer(LimitsAnswer):
    """A job's flow control."""

    unique_key: str | None = Field(description="The unique key under which it was submitted.")
    unique_seconds: int | None = Field(
        description="How many seconds it holds the unique key from the first submit; null: until it has ended."
    )
    debounce_seconds: int | None = Field(
        description="How many seconds without another trigger or submit its run waits for."
    )
    debounce_max_seconds: int | None = Field(
        description="The most seconds from the first trigger or submit to the start."
    )
    supersede: bool = Field(description="Whether a newer run replaces one that has not started.")


def flow_of(request: FlowFields) -> Flow:
    """Return the flow control of a valid request."""
    unique = None if request.unique_key is None else Unique(request.unique_key, request.unique_seconds)
    seconds = request.debounce_seconds
    debounce = None if seconds is None else Debounce(seconds, request.debounce_max_seconds or _longest(seconds))
    slots, rate = stated(request.concurrency_limit), stated(request.rate_limit)
    return Flow(
        unique,
        debounce,
        supersede=bool(request.supersede),
        concurrency=ConcurrencyLimit(**slots) if slots else None,
        rate=RateLimit(**rate) if rate else None,
    )


def flow_fields(flow: Flow) -> dict[str, Any]:
    """Return a job's flow control by the names of the API."""
    unique, debounce = flow.unique, flow.debounce
    return {
        "uniqueKey": unique and unique.key,
        "uniqueSeconds": unique and unique.seconds,
        "debounceSeconds": debounce and debounce.seconds,
        "debounceMaxSeconds": debounce and debounce.max_seconds,
        "supersede": flow.supersede,
        "concurrencyLimit": flow.concurrency,
        "rateLimit": flow.rate,
    }


def bad_flow(request: FlowFields, overlap: str | None, catch_up: str | None, *, waits: bool) -> Iterator[FieldError]:
    """Yield what is wrong with flow control together with the overlap and catch-up policies, and with parents.

    `waits` says that the job depends on others.
    """
    least = request.debounce_seconds or 0
    if least > (request.debounce_max_seconds or least):
        yield FieldError("debounceMaxSeconds", f"This is the longest wait; give debounceSeconds, {least}, or more.")
    if not request.supersede:
        return
    if overlap == "skip":
        yield FieldError(
            "supersede", "With overlapPolicy skip the newer run is skipped; choose another policy, or leave this out."
        )
    if waits:
        yield FieldError(
            "supersede", "A job that depends on others needs a run in each cycle; leave out supersede or dependsOn."
        )
    if catch_up == "all":
        yield FieldError(
            "supersede", "With the catchUp policy all each missed fire runs; choose latest, or leave this out."
        )


def _longest(seconds: int) -> int:
    return min(_WAITS * seconds, LONGEST_WAIT_SECONDS)
