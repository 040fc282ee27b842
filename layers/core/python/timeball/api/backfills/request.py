"""The request for a backfill: a range of the past, and how its runs follow each other.

A range contains its first instant and excludes its end: one range ends where the next begins.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from timeball.api.http.fields import Instant
from timeball.api.http.problems import FieldError
from timeball.api.http.request_model import ByValue, Strict, read_fields, stated
from timeball.api.http.schema_rules import needed
from timeball.domain.backfill import MAX_INSTANTS, Backfill, instants, unbounded
from timeball.domain.model.terms.policies import OverlapPolicy
from timeball.domain.time.instants import format_instant
from timeball.domain.time.schedule import Schedule, next_fire, previous_fire


class BackfillRequest(Strict):
    """A range of the past whose fires run again, by the job's present schedule."""

    model_config = ConfigDict(json_schema_extra=needed("from", "to"))

    from_at: Instant | None = Field(None, alias="from", description="The beginning of the range, which is included.")
    to_at: Instant | None = Field(
        None, alias="to", description="The end of the range, which is excluded; it is not in the future."
    )
    dry_run: bool | None = Field(None, description="Show the fire times and store nothing; default false.")
    pace_seconds: int | None = Field(
        None, ge=0, le=86_400, description="The seconds between the starts of two runs; default 1."
    )
    overlap_policy: Annotated[OverlapPolicy, ByValue] | None = Field(
        None, description="The policy for a fire while the run before it is live; default `allow`."
    )
    graph: bool | None = Field(
        None,
        description=(
            "Run a whole cycle for each fire time: the job, and then all jobs that depend on it, also indirectly, by "
            "their rules. Default false."
        ),
    )


@dataclass(frozen=True)
class BackfillRange:
    """A valid request: from `from_at` up to `to_at`, which is excluded (ms)."""

    from_at: int = 0
    to_at: int = 0
    dry_run: bool = False
    pace_seconds: int = 1
    overlap_policy: OverlapPolicy = OverlapPolicy.ALLOW
    graph: bool = False


def read_backfill_request(body: Mapping[str, Any], now: int) -> tuple[BackfillRange, list[FieldError]]:
    """Validate a body at an instant (ms): return the range, which is valid only without errors, and the errors."""
    request, given, errors = read_fields(BackfillRequest, body)
    spoilt = {error.field for error in errors}
    errors += _together(request, now, {*given, *spoilt})
    return BackfillRange(**stated(request)), errors


def _together(request: BackfillRequest, now: int, given: set[str]) -> Iterator[FieldError]:
    if "from" not in given:
        yield FieldError("from", "Give the beginning of the range.")
    if "to" not in given:
        yield FieldError("to", "Give the end of the range, now at the latest.")
    if request.to_at is not None and request.to_at > now:
        yield FieldError("to", "This is in the future, and a backfill is of the past; give an earlier time.")
    if request.from_at is not None and request.to_at is not None and request.to_at <= request.from_at:
        yield FieldError("to", "This is not after from; give a later time.")


def fire_times(schedule: Schedule, wanted: BackfillRange) -> tuple[list[int], list[FieldError]]:
    """Return the fire times (ms) of a schedule in a range, and an error if there are none or too many."""
    found = list(islice(instants(schedule, wanted.from_at, wanted.to_at), MAX_INSTANTS + 1))
    if not found:
        return found, [FieldError("from", f"The schedule has no fire time in this range{_nearest(schedule, wanted)}.")]
    if len(found) > MAX_INSTANTS:
        return found, [
            FieldError(
                "to",
                f"The range has at least {len(found)} fire times, and a backfill may have {MAX_INSTANTS}; "
                f"end it at {format_instant(found[-1])}, and begin another backfill there.",
            )
        ]
    return found, []


def _nearest(schedule: Schedule, wanted: BackfillRange) -> str:
    """Return a phrase about the nearest fires before and after an empty range."""
    timing = unbounded(schedule)
    before_at = previous_fire(timing, wanted.from_at, 0)
    after_at = next_fire(timing, wanted.to_at - 1)
    before = [] if before_at is None else [f"the last one before it is {format_instant(before_at)}"]
    after = [] if after_at is None else [f"the next one after it is {format_instant(after_at)}"]
    return "".join(f"; {part}" for part in [*before, *after])


def asks_for(wanted: BackfillRange, standing: Backfill) -> bool:
    """Say whether a request asks for the backfill that has its name, by the schedule that this was made with."""
    found = list(islice(instants(standing.schedule, wanted.from_at, wanted.to_at), standing.total + 1))
    if [*found[:1], *found[-1:]] != [standing.first_at, standing.last_at] or len(found) != standing.total:
        return False
    terms = (standing.pace_seconds, standing.overlap, standing.graph)
    return (wanted.pace_seconds, wanted.overlap_policy, wanted.graph) == terms
